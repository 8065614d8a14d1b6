/* SPDX-License-Identifier: MIT
 *
 * Semaphores of Mach: a count on which a futex of the host waits.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clocks.h"
#include "import.h"
#include "mach.h"
#include "port.h"
#include "thread.h"

struct semaphore {
    _Atomic uint32_t count;
    _Atomic bool used;
};

static struct semaphore semaphores[PORTS];

static int fake_semaphore_create(uint32_t task, uint32_t *out, int policy, int value) {
    (void)task;
    (void)policy;
    for (int i = 0; i < PORTS; i++) {
        if (!atomic_exchange(&semaphores[i].used, true)) {
            semaphores[i].count = (uint32_t)value;
            *out = port_retain(port_new(PORT_SEMAPHORE, &semaphores[i]));
            return KERN_SUCCESS;
        }
    }
    return KERN_FAILURE;
}

static int fake_semaphore_destroy(uint32_t task, uint32_t name) {
    (void)task;
    struct semaphore *s = port_object(name, PORT_SEMAPHORE);
    if (!s) {
        return KERN_INVALID_ARGUMENT;
    }
    s->used = false;
    s->count = 1u << 31; /* ends the waits */
    futex_wake(&s->count, 1000);
    port_release_name(name);
    return KERN_SUCCESS;
}

static int fake_semaphore_signal(uint32_t name) {
    struct semaphore *s = port_object(name, PORT_SEMAPHORE);
    if (!s) {
        return KERN_INVALID_ARGUMENT;
    }
    s->count++;
    futex_wake(&s->count, 1);
    return KERN_SUCCESS;
}

static bool take(struct semaphore *s) {
    uint32_t count = s->count;
    while (count > 0) {
        if (atomic_compare_exchange_weak(&s->count, &count, count - 1)) {
            return true;
        }
    }
    return false;
}

static int wait_until(uint32_t name, const struct timespec *until) {
    struct semaphore *s = port_object(name, PORT_SEMAPHORE);
    if (!s) {
        return KERN_INVALID_ARGUMENT;
    }
    int result = KERN_SUCCESS;
    thread_block();
    while (!take(s)) {
        if (s->count & 1u << 31) {
            result = KERN_TERMINATED;
            break;
        }
        uint64_t now = clocks_uptime_ns();
        if (until && (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec <= now) {
            result = KERN_OPERATION_TIMED_OUT;
            break;
        }
        futex_wait(&s->count, 0, until);
    }
    thread_unblock();
    return result;
}

static int fake_semaphore_wait(uint32_t name) {
    return wait_until(name, NULL);
}

struct mach_timespec {
    uint32_t seconds;
    int32_t nanoseconds;
};

static int fake_semaphore_timedwait(uint32_t name, struct mach_timespec time) {
    struct timespec until = clocks_after(time.seconds * 1000000000ull + (uint64_t)time.nanoseconds);
    return wait_until(name, &until);
}

const struct import imports_of_semaphore[] = {
    KERNEL("semaphore_create", fake_semaphore_create, 0),
    KERNEL("semaphore_destroy", fake_semaphore_destroy, 0),
    KERNEL("semaphore_signal", fake_semaphore_signal, -33),
    KERNEL("semaphore_wait", fake_semaphore_wait, -36),
    KERNEL("semaphore_timedwait", fake_semaphore_timedwait, -38),
    IMPORT_END,
};
