/* SPDX-License-Identifier: MIT
 *
 * Calls of Mach about threads, the task and its memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clocks.h"
#include "images.h"
#include "import.h"
#include "mach.h"
#include "memory.h"
#include "port.h"
#include "thread.h"

static int thread_or_error(uint32_t port, struct thread **out) {
    *out = thread_of_port(port);
    return *out ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
}

static int fake_thread_suspend(uint32_t port) {
    struct thread *t;
    int result = thread_or_error(port, &t);
    result = result ? result : thread_suspend(t);
    thread_self->suspends += result == KERN_SUCCESS;
    return result;
}

static int fake_thread_resume(uint32_t port) {
    struct thread *t;
    int result = thread_or_error(port, &t);
    result = result ? result : thread_resume(t);
    thread_self->suspends -= result == KERN_SUCCESS && thread_self->suspends > 0;
    return result;
}

/* ---- registers ---------------------------------------------------------------------------- */

static int state_store(const struct thread_registers *r, int flavor, uint32_t *out, uint32_t *count) {
    uint64_t *words = (uint64_t *)(void *)out;
#if defined(__x86_64__)
    if (flavor != 4 || *count < 42) {
        return KERN_INVALID_ARGUMENT;
    }
    memcpy(words, r->general, 16 * 8); /* the order is the same */
    words[16] = r->pc;
    words[17] = r->flags;
    words[18] = 0x2b;
    words[19] = words[20] = 0;
    *count = 42;
#else
    if (flavor != 6 || *count < 68) {
        return KERN_INVALID_ARGUMENT;
    }
    memcpy(words, r->general, 31 * 8);
    words[31] = r->sp;
    words[32] = r->pc;
    out[66] = (uint32_t)r->flags;
    out[67] = 0;
    *count = 68;
#endif
    return KERN_SUCCESS;
}

static int fake_thread_get_state(uint32_t port, int flavor, uint32_t *out, uint32_t *count) {
    struct thread *t;
    int result = thread_or_error(port, &t);
    if (result || t == thread_self) {
        return result ? result : KERN_INVALID_ARGUMENT;
    }
    result = thread_suspend(t); /* the kernel stops a running thread for the read */
    if (result == KERN_SUCCESS) {
        result = state_store(&t->registers, flavor, out, count);
        thread_resume(t);
    }
    return result;
}

/* ---- thread_info -------------------------------------------------------------------------- */

struct basic_info {
    int32_t user[2], system[2], cpu_usage, policy, run_state, flags, suspend_count, sleep_time;
};
struct identifier_info {
    uint64_t id, handle, queue;
};
struct extended_info {
    uint64_t user_ns, system_ns;
    int32_t cpu_usage, policy, run_state, flags, sleep_time, priority[3];
    char name[64];
};

/* The share of one CPU since the last query, of 1000. */
static int32_t usage_of(struct thread *t, uint64_t cpu) {
    uint64_t now = clocks_uptime_ns();
    uint64_t time = now - t->time_at_query, used = cpu - t->cpu_at_query;
    int32_t usage = t->time_at_query && time > 0 ? (int32_t)(used * 1000 / time) : 0;
    t->time_at_query = now;
    t->cpu_at_query = cpu;
    return usage > 1000 ? 1000 : usage;
}

static int32_t state_of(const struct thread *t) {
    return t->blocked ? 3 : t->suspend_count ? 2 : 1;
}

static int info_basic(struct thread *t, struct basic_info *out) {
    uint64_t cpu = thread_cpu_ns(t);
    *out = (struct basic_info){
        .user = {(int32_t)(cpu / 1000000000u), (int32_t)(cpu % 1000000000u / 1000)},
        .cpu_usage = usage_of(t, cpu),
        .policy = 1,
        .run_state = state_of(t),
        .suspend_count = t->suspend_count,
    };
    return sizeof *out / 4;
}

#define SPECIFIC_DATA 224 /* of a thread, in its struct pthread_s */

static int info_identifier(const struct thread *t, struct identifier_info *out) {
    *out = (struct identifier_info){t->id, (uint64_t)t + SPECIFIC_DATA, 0};
    return sizeof *out / 4;
}

static int info_extended(struct thread *t, struct extended_info *out) {
    uint64_t cpu = thread_cpu_ns(t);
    *out = (struct extended_info){
        .user_ns = cpu,
        .cpu_usage = usage_of(t, cpu),
        .policy = 1,
        .run_state = state_of(t),
        .priority = {31, 31, 63},
    };
    memcpy(out->name, t->name, sizeof out->name);
    return sizeof *out / 4;
}

static int fake_thread_info(uint32_t port, int flavor, void *out, uint32_t *count) {
    struct thread *t;
    int result = thread_or_error(port, &t);
    if (result) {
        return result;
    }
    if (flavor == 3 && *count >= sizeof(struct basic_info) / 4) {
        *count = (uint32_t)info_basic(t, out);
    } else if (flavor == 4 && *count >= sizeof(struct identifier_info) / 4) {
        *count = (uint32_t)info_identifier(t, out);
    } else if (flavor == 5 && *count >= sizeof(struct extended_info) / 4) {
        *count = (uint32_t)info_extended(t, out);
    } else {
        return KERN_INVALID_ARGUMENT;
    }
    return KERN_SUCCESS;
}

/* Each port in the list is one more reference; the list is memory of its own. */
static int fake_task_threads(uint32_t task, uint32_t **list, uint32_t *count) {
    (void)task;
    uint32_t *out = mmap(NULL, THREADS * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t n = 0;
    for (int i = 0; i < thread_limit(); i++) {
        struct thread *t = thread_at(i);
        if (t->life == THREAD_RUNS) {
            out[n++] = port_retain(t->port);
        }
    }
    memory_list_taken(out);
    *list = out;
    *count = n;
    return KERN_SUCCESS;
}

/* ---- memory of the task ------------------------------------------------------------------- */

static __thread int pipe_ends[2];

/* Under qemu there is no process_vm_readv: the kernel copies by a pipe, a page at a time. */
static bool read_by_pipe(uint64_t from, uint64_t bytes, uint64_t to) {
    if (!pipe_ends[1] && pipe2(pipe_ends, O_CLOEXEC) != 0) {
        return false;
    }
    for (uint64_t done = 0; done < bytes;) {
        size_t n = bytes - done < 4096 ? bytes - done : 4096;
        ssize_t got = write(pipe_ends[1], (const void *)(from + done), n);
        if (got <= 0 || read(pipe_ends[0], (void *)(to + done), (size_t)got) != got) {
            return false;
        }
        done += (uint64_t)got;
    }
    return true;
}

static int fake_vm_read_overwrite(uint32_t task, uint64_t from, uint64_t bytes, uint64_t to, uint64_t *got) {
    (void)task;
    struct iovec local = {(void *)to, bytes}, remote = {(void *)from, bytes};
    ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    bool all = n == (ssize_t)bytes;
    if (n < 0 && errno == ENOSYS) {
        all = read_by_pipe(from, bytes, to);
    }
    *got = all ? bytes : 0;
    return all ? KERN_SUCCESS : KERN_INVALID_ADDRESS; /* all or nothing */
}

/* ---- task_info ---------------------------------------------------------------------------- */

struct dyld_task_info {
    uint64_t address, size;
    int32_t format;
} __attribute__((packed, aligned(4)));

#define VM_INFO_COUNT 93u   /* TASK_VM_INFO_COUNT of revision 5 */
#define VM_FOOTPRINT 18     /* the 8-byte word of phys_footprint */
#define VM_REMAINING_AT 336 /* the offset of limit_bytes_remaining */

static uint64_t resident_bytes(void) {
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        close(fd);
    }
    unsigned long long size = 0, resident = 0;
    return n > 0 && sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * 4096 : 0;
}

static int fake_task_info(uint32_t task, int flavor, void *out, uint32_t *count) {
    (void)task;
    if (flavor == 17 && *count >= 5) { /* TASK_DYLD_INFO */
        *(struct dyld_task_info *)out = (struct dyld_task_info){images_infos(), 392, 1};
        *count = 5;
    } else if (flavor == 22 && *count >= 38) { /* TASK_VM_INFO */
        uint32_t n = *count < VM_INFO_COUNT ? *count : VM_INFO_COUNT;
        memset(out, 0, (size_t)n * 4);
        uint64_t footprint = resident_bytes();
        memcpy((char *)out + (size_t)VM_FOOTPRINT * 8, &footprint, 8);
        uint64_t remaining = 1ull << 30;
        if ((size_t)n * 4 >= VM_REMAINING_AT + 8) {
            memcpy((char *)out + VM_REMAINING_AT, &remaining, 8);
        }
        *count = n;
    } else if (flavor == 2 && *count >= 8) { /* TASK_EVENTS_INFO: faults, page-ins, ..., switches */
        int32_t values[8] = {100, 7, 0, 0, 0, 0, 0, 1000};
        memcpy(out, values, sizeof values);
        *count = 8;
    } else {
        return KERN_INVALID_ARGUMENT;
    }
    return KERN_SUCCESS;
}

/* The role of a program in the foreground. */
static int fake_task_policy_get(uint32_t task, uint32_t flavor, int32_t *out, uint32_t *count,
                                uint32_t *is_default) {
    (void)task;
    if (flavor != 1 || *count < 1) {
        return KERN_INVALID_ARGUMENT;
    }
    *out = 1;
    *count = 1;
    *is_default = 0;
    return KERN_SUCCESS;
}

const struct import imports_of_mach[] = {
    {"_thread_suspend", (void *)fake_thread_suspend, IMPORT_KERNEL, 0},
    {"_thread_resume", (void *)fake_thread_resume, IMPORT_SUSPENDED, 0},
    {"_thread_get_state", (void *)fake_thread_get_state, IMPORT_SUSPENDED, 0},
    {"_vm_read_overwrite", (void *)fake_vm_read_overwrite, IMPORT_SUSPENDED, 0},
    KERNEL("thread_info", fake_thread_info, 0),
    KERNEL("task_threads", fake_task_threads, 0),
    IMPORT_END,
};

const struct import imports_of_task[] = {
    KERNEL("task_info", fake_task_info, 0),
    KERNEL("task_policy_get", fake_task_policy_get, 0),
    IMPORT_END,
};
