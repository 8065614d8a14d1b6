/* SPDX-License-Identifier: MIT
 *
 * os_unfair_lock and pthread mutexes with the owner's words where Darwin has them, condition variables, and
 * the calls in which a waiter is shown.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "clocks.h"
#include "errors.h"
#include "import.h"
#include "thread.h"

/* ---- os_unfair_lock: the owner's port; bit 0 is clear while a thread waits ----------------- */

#define UL_UNFAIR_LOCK 2
#define ULF_NO_ERRNO 0x01000000

static void fake_unfair_lock(_Atomic uint32_t *word) {
    uint32_t self = thread_self->port, seen = 0;
    while (!atomic_compare_exchange_strong(word, &seen, self)) {
        uint32_t waits = seen & ~1u;
        if (seen == waits || atomic_compare_exchange_strong(word, &seen, waits)) {
            gate_show("___ulock_wait", ULF_NO_ERRNO | 0x10000 | UL_UNFAIR_LOCK, (uint64_t)word, waits, 0);
            thread_block();
            futex_wait(word, waits, NULL);
            thread_unblock();
        }
        seen = 0;
    }
}

static void fake_unfair_unlock(_Atomic uint32_t *word) {
    uint32_t old = atomic_exchange(word, 0);
    if (!(old & 1)) {
        futex_wake(word, 1000);
    }
}

static bool fake_unfair_trylock(_Atomic uint32_t *word) {
    uint32_t seen = 0;
    return atomic_compare_exchange_strong(word, &seen, thread_self->port);
}

static int fake_ulock_wait(uint32_t operation, _Atomic uint32_t *word, uint64_t value, uint32_t us) {
    (void)operation;
    struct timespec until = clocks_after(us * 1000ull);
    thread_block();
    futex_wait(word, (uint32_t)value, us ? &until : NULL);
    thread_unblock();
    return 0;
}

static int fake_ulock_wake(uint32_t operation, _Atomic uint32_t *word, uint64_t value) {
    (void)value;
    futex_wake(word, operation & 0x100 ? 1000 : 1);
    return 0;
}

/* ---- pthread mutexes: the owner's 64-bit id is at 24 ----------------------------------------- */

struct mutex {
    uint64_t signature;
    uint32_t lock, options;
    uint32_t priorities, padding;
    _Atomic uint64_t owner;    /* m_tid */
    _Atomic uint32_t sequence; /* m_seq[0]: 0 unlocked, 1 locked, 2 a thread waits */
    uint32_t count;            /* of a recursive one */
    uint32_t more[6];
};
_Static_assert(sizeof(struct mutex) == 64, "pthread_mutex_t");
#define RECURSIVE_SIGNATURE 0x32aaaba2u
#define MUTEX_SIGNATURE 0x4d555458u

static bool is_recursive(const struct mutex *m) {
    return (m->options & 0xc) == 0x8 || m->signature == RECURSIVE_SIGNATURE;
}

static int fake_mutex_lock(struct mutex *m) {
    if (is_recursive(m) && m->owner == thread_self->id) {
        m->count++;
        return 0;
    }
    uint32_t unlocked = 0;
    if (!atomic_compare_exchange_strong(&m->sequence, &unlocked, 1)) {
        while (atomic_exchange(&m->sequence, 2) != 0) {
            gate_show("___psynch_mutexwait", (uint64_t)m, 0x300, 0, m->owner);
            thread_block();
            futex_wait(&m->sequence, 2, NULL);
            thread_unblock();
        }
    }
    m->owner = thread_self->id;
    m->count = 1;
    return 0;
}

static int fake_mutex_trylock(struct mutex *m) {
    uint32_t unlocked = 0;
    if (is_recursive(m) && m->owner == thread_self->id) {
        m->count++;
        return 0;
    }
    if (!atomic_compare_exchange_strong(&m->sequence, &unlocked, 1)) {
        return errors_darwin(EBUSY);
    }
    m->owner = thread_self->id;
    m->count = 1;
    return 0;
}

static int fake_mutex_unlock(struct mutex *m) {
    if (--m->count > 0) {
        return 0;
    }
    m->owner = 0;
    if (atomic_exchange(&m->sequence, 0) == 2) {
        futex_wake(&m->sequence, 1);
    }
    return 0;
}

static int fake_mutex_init(struct mutex *m, const uint64_t *attributes) {
    memset(m, 0, sizeof *m);
    m->signature = MUTEX_SIGNATURE;
    m->options = attributes ? (uint32_t)attributes[1] << 2 : 0;
    return 0;
}

static int fake_mutexattr_init(uint64_t *a) {
    a[0] = 0x4d545841;
    a[1] = 0;
    return 0;
}
static int fake_mutexattr_settype(uint64_t *a, int type) {
    a[1] = (uint64_t)type;
    return 0;
}

/* ---- condition variables ------------------------------------------------------------------ */

struct condition {
    uint64_t signature;
    _Atomic uint32_t sequence;
    uint32_t more[9];
};
_Static_assert(sizeof(struct condition) == 48, "pthread_cond_t");

static int wait(struct condition *c, struct mutex *m, const struct timespec *until) {
    uint32_t sequence = c->sequence;
    fake_mutex_unlock(m);
    gate_show("___psynch_cvwait", (uint64_t)c, sequence, 0, (uint64_t)m);
    thread_block();
    futex_wait(&c->sequence, sequence, until);
    thread_unblock();
    bool late = until && c->sequence == sequence;
    fake_mutex_lock(m);
    return late ? errors_darwin(ETIMEDOUT) : 0;
}

static int fake_cond_wait(struct condition *c, struct mutex *m) {
    return wait(c, m, NULL);
}

static int fake_cond_timedwait_relative(struct condition *c, struct mutex *m, const struct timespec *time) {
    struct timespec until = clocks_after((uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec);
    return wait(c, m, &until);
}

static int fake_cond_timedwait(struct condition *c, struct mutex *m, const struct timespec *wall) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ns = (wall->tv_sec - now.tv_sec) * 1000000000ll + (wall->tv_nsec - now.tv_nsec);
    struct timespec until = clocks_after(ns > 0 ? (uint64_t)ns : 0);
    return wait(c, m, &until);
}

static int fake_cond_broadcast(struct condition *c) {
    c->sequence++;
    futex_wake(&c->sequence, 1000);
    return 0;
}

static int fake_cond_init(struct condition *c, const void *attributes) {
    (void)attributes;
    memset(c, 0, sizeof *c);
    return 0;
}

static int fake_nothing(void) {
    return 0;
}

const struct import imports_of_lock[] = {
    LIBRARY("os_unfair_lock_lock", fake_unfair_lock),
    LIBRARY("os_unfair_lock_unlock", fake_unfair_unlock),
    LIBRARY("os_unfair_lock_trylock", fake_unfair_trylock),
    KERNEL("__ulock_wait", fake_ulock_wait, 515),
    KERNEL("__ulock_wake", fake_ulock_wake, 516),
    KERNEL("__psynch_mutexwait", fake_nothing, 301),
    KERNEL("__psynch_cvwait", fake_nothing, 305),
    LIBRARY("pthread_mutex_init", fake_mutex_init),
    LIBRARY("pthread_mutex_destroy", fake_nothing),
    LIBRARY("pthread_mutex_lock", fake_mutex_lock),
    LIBRARY("pthread_mutex_trylock", fake_mutex_trylock),
    LIBRARY("pthread_mutex_unlock", fake_mutex_unlock),
    LIBRARY("pthread_mutexattr_init", fake_mutexattr_init),
    LIBRARY("pthread_mutexattr_settype", fake_mutexattr_settype),
    LIBRARY("pthread_mutexattr_destroy", fake_nothing),
    LIBRARY("pthread_cond_init", fake_cond_init),
    LIBRARY("pthread_cond_destroy", fake_nothing),
    LIBRARY("pthread_cond_wait", fake_cond_wait),
    LIBRARY("pthread_cond_timedwait", fake_cond_timedwait),
    LIBRARY("pthread_cond_timedwait_relative_np", fake_cond_timedwait_relative),
    LIBRARY("pthread_cond_signal", fake_cond_broadcast),
    LIBRARY("pthread_cond_broadcast", fake_cond_broadcast),
    IMPORT_END,
};
