/* SPDX-License-Identifier: MIT
 *
 * The calls of Mach in one table, `hd_mach`, so that a test can fake, count and fail each of them. Values go
 * in and out, not structures of the system: only src/os/darwin includes the headers of the system. A member
 * returns 0 or a negative errno value, unless its comment says otherwise. No member allocates memory of the
 * process or takes a lock of it, except where its comment says so.
 */
#ifndef HD_OS_DARWIN_MACH_H
#define HD_OS_DARWIN_MACH_H

#include "base/types.h"

typedef uint32_t hd_port; /* the name of a Mach port in this process; 0: none */

#define HD_MACH_THREADS_MAX 256u

/* A thread's registers as the kernel gives them, without pointer authentication. */
struct hd_mach_registers {
    uint64_t pc, sp;
    /* arm64: x0 to x30. x86-64: rax, rbx, rcx, rdx, rdi, rsi, rbp, rsp, r8 to r15. */
    uint64_t general[31];
};

enum hd_mach_state { /* the kernel's TH_STATE_* */
    HD_MACH_RUNNING = 1,
    HD_MACH_STOPPED = 2,
    HD_MACH_WAITING = 3,
    HD_MACH_UNINTERRUPTIBLE = 4,
    HD_MACH_HALTED = 5,
};

/* THREAD_EXTENDED_INFO and THREAD_IDENTIFIER_INFO of a thread. */
struct hd_mach_thread {
    uint64_t id;        /* unique in the system since its start; 64 bits */
    uint64_t user_ns;   /* CPU time in user mode */
    uint64_t system_ns; /* CPU time in the kernel */
    uint64_t handle;    /* the thread's specific data, which its pthread_t has at its end; 0: none */
    uint64_t queue;     /* the address of the word that names the dispatch queue; 0: none */
    int32_t state;      /* enum hd_mach_state */
    int32_t cpu_usage;  /* 0 to 1000 of one CPU, aged by the scheduler */
    int32_t priority;
    char name[64]; /* may be empty */
};

/* TASK_VM_INFO, TASK_EVENTS_INFO, RUSAGE_INFO_V4 and the task's role. */
struct hd_mach_task {
    uint64_t footprint_bytes;
    uint64_t limit_remaining_bytes; /* 0: no limit is known */
    uint64_t page_ins;
    uint64_t switches;
    /* How long all threads together were ready to run and had no CPU. 0: not known, as on iOS. */
    uint64_t cpu_wait_ns;
    int32_t
        role; /* TASK_CATEGORY_POLICY: 1 foreground, 2 background, 6 not of the interface; -1: not known */
};

struct hd_mach_calls {
    /* Between `suspend` and `resume` of the same thread only `registers`, `read` and memcpy may run. Counts
     * of suspensions nest. -ESRCH: the thread has ended. */
    int (*suspend)(hd_port thread);
    int (*resume)(hd_port thread);
    int (*registers)(hd_port thread, struct hd_mach_registers *out);
    /* Copies `n` bytes, at most 16 KiB, from this process's memory: all of them or -EFAULT. Larger copies
     * make the pages of the watched thread copy-on-write. */
    int (*read)(uint64_t addr, void *to, size_t n);

    int (*thread)(hd_port thread, struct hd_mach_thread *out);
    /* Only the CPU times and the state of *out: one call of the kernel, for looks. */
    int (*thread_times)(hd_port thread, struct hd_mach_thread *out);
    /* Lists the threads of this process, oldest first. Returns their number, of which the newest `max`
     * are stored. The caller releases each stored port. Never while a thread is suspended: it frees memory.
     */
    int (*threads)(hd_port *list, uint32_t max);
    /* The calling thread's port, which the caller releases. */
    hd_port (*self)(void);
    void (*release)(hd_port port);

    /* The address of the loader's struct dyld_all_image_infos, which no lock guards. */
    int (*images)(uint64_t *address);
    int (*task)(struct hd_mach_task *out);

    /* A semaphore wakes one of our own threads. `wait` returns -ETIMEDOUT at `until_ns` of hd_os_now_ns
     * (UINT64_MAX: no limit), or -EINTR. `signal` is async-signal-safe and takes no lock. */
    int (*semaphore_new)(hd_port *out);
    int (*semaphore_wait)(hd_port semaphore, uint64_t until_ns);
    int (*semaphore_signal)(hd_port semaphore);
    void (*semaphore_free)(hd_port semaphore);
};

extern struct hd_mach_calls hd_mach;

#endif
