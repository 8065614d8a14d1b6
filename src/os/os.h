/* SPDX-License-Identifier: MIT
 *
 * Everything that differs between operating systems: system calls, clock, threads.
 *
 * System calls go through one table, `hd_os`. A test can make the nth call fail, and no interposer
 * (Hangdog's, a sanitizer's, libfaketime's) stands between the library and the kernel.
 * Every member returns a negative errno value on failure, never sets errno, is not a
 * cancellation point, and is async-signal-safe.
 */
#ifndef HD_OS_H
#define HD_OS_H

#include "base/types.h"

struct timespec;

struct hd_os_calls {
    int (*open_at)(int dir, const char *path, int flags, int mode);
    int (*close)(int fd);
    long (*read)(int fd, void *buf, size_t n);
    long (*pread)(int fd, void *buf, size_t n, uint64_t offset);
    long (*write)(int fd, const void *buf, size_t n);
    int (*socket)(int family, int type, int protocol);
    int (*connect)(int fd, const void *address, uint32_t bytes);
    int (*fsync)(int fd);
    int (*rename_at)(int dir, const char *from, const char *to); /* both paths start at `dir` */
    int (*unlink_at)(int dir, const char *path);
    int (*mkdir_at)(int dir, const char *path, int mode);
    int (*chmod_at)(int dir, const char *path, int mode); /* empty path: changes `dir` itself */
    int (*ftruncate)(int fd, uint64_t size);
    int (*flock)(int fd, int operation);
    long (*readlink_at)(int dir, const char *path, char *buf, size_t n);          /* no NUL at the end */
    long (*get_xattr)(const char *path, const char *name, void *value, size_t n); /* follows links */
    long (*getdents)(int fd, void *buf, size_t n);
    int (*stat_at)(int dir, const char *path, void *st, int flags); /* struct stat */
    /* *type: the S_IFMT bits that this machine has cached. Never waits for a file server. */
    int (*file_type_at)(int dir, const char *path, uint32_t *type);
    /* Returns memory or an error: see hd_os_map_error. */
    void *(*map)(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset);
    int (*unmap)(void *addr, size_t n);
    int (*advise)(void *addr, size_t n, int advice);
    int (*protect)(void *addr, size_t n, int prot);
    /* Waits while *word == expected, until `until_ns` (CLOCK_MONOTONIC; UINT64_MAX: no limit). 0: woken;
     * -EAGAIN: *word differed; -ETIMEDOUT; -EINTR. `shared`: the word lies in memory of several processes. */
    int (*futex_wait)(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared);
    int (*futex_wake)(uint32_t *word, int count, bool shared);
    int (*signal_thread)(int pid, int tid, int signal, uint64_t value);         /* rt_tgsigqueueinfo */
    int (*signal_action)(int signal, const void *new_action, void *old_action); /* kernel's sigaction */
    int (*alt_stack)(const void *new_stack, void *old_stack);                   /* stack_t */
    /* Changes the calling thread's mask. Bit n - 1 of a set is signal n. */
    int (*signal_mask)(int how, const uint64_t *set, uint64_t *old);
    /* Gives the calling thread a private descriptor table. 0: the table is empty; 1: the table is a copy, and
     * close_all must empty it; negative: the thread still shares the program's table. */
    int (*private_table)(void);
    /* Closes all descriptors of a private table. Like close, may block on a file system. */
    void (*close_all)(void);
    int (*set_thread_name)(const char *name); /* of the calling thread */
    int (*get_thread_name)(char name[16]);    /* of the calling thread */
    int (*get_pid)(void);
    int (*get_tid)(void);
    long (*get_random)(void *buf, size_t n);
    int (*wall_clock)(uint64_t *ns); /* CLOCK_REALTIME */
    int (*boot_clock)(uint64_t *ns); /* CLOCK_BOOTTIME: counts the time of a system suspend too */
    /* The vDSO's clock_gettime, for hd_os_now_ns. NULL: hd_os_now_ns makes a system call.
     * hd_os_clock_init sets a NULL member; a test may set the member first. */
    int (*clock)(int clock, struct timespec *time);
    /* CPU time of a thread of this process. -EINVAL: the thread has ended. */
    int (*thread_cpu_clock)(int tid, uint64_t *ns);
    /* Reads memory of process `pid`, this one included, that may be unmapped (process_vm_readv).
     * Returns bytes read, maybe fewer than `n`, or -EFAULT. */
    long (*read_memory)(int pid, uint64_t addr, void *buf, size_t n);
};

/* The error in a result of hd_os.map; 0: the result is memory. */
static inline int hd_os_map_error(const void *p) {
    return (uintptr_t)p >= (uintptr_t)-4095 ? (int)(intptr_t)p : 0;
}

/* The table in use. Constant after start, but a test may replace members. */
extern struct hd_os_calls hd_os;

/* Opens for reading, with O_CLOEXEC. */
int hd_os_open(int dir, const char *path);
/* Ignores a negative `fd`. */
void hd_os_close(int fd);
/* CLOCK_REALTIME; 0: the clock cannot be read. */
uint64_t hd_os_wall_ns(void);

/* How many of the `n` bytes at `addr` lie in pages up to the last touched one. A read of these from
 * /proc/self/mem does not disturb the program; page_map.c says why. 0: the first page is untouched or
 * unmapped. `n`: the kernel does not say.
 * hd_os_touched_open opens the descriptor that hd_os_touched needs, for the calling thread only. */
size_t hd_os_touched(uint64_t addr, size_t n);
void hd_os_touched_open(void);
void hd_os_touched_close(void);

/* CLOCK_MONOTONIC in nanoseconds, from the vDSO (not from libc, which may be interposed).
 * Async-signal-safe. */
uint64_t hd_os_now_ns(void);
/* Sleeps for `ns`. A signal ends the sleep early. */
void hd_os_nap(uint64_t ns);

/* CPU time of the calling thread, and of the whole process, in ns. Async-signal-safe. */
uint64_t hd_os_thread_cpu_ns(void);
uint64_t hd_os_process_cpu_ns(void);

/* Finds the vDSO's clock. Call before the first hd_os_now_ns; further calls do nothing. */
void hd_os_clock_init(void);

/* True when the kernel's clock source is the time-stamp counter. Only then may the counter stamp marks. */
bool hd_os_ticks_usable(void);
/* Also true when the clock source is KVM's, which builds on a counter of constant rate. Good for differences
 * of times. A guest that migrates to another machine may get one wrong difference. */
bool hd_os_ticks_steady(void);

/* ---- memory and threads, by src/os/linux/setup.c only -------------------------------------- */

/* Maps zeroed anonymous memory, which a forked child finds zeroed again. NULL: the kernel refused. */
void *hd_os_memory_take(size_t bytes);
/* Unmaps; ignores NULL. */
void hd_os_memory_give(void *p, size_t bytes);
/* Replaces pages at once: by a shared mapping of file `fd`, or by anonymous memory where `fd` is -1.
 * 0 or a negative errno value. */
int hd_os_memory_of_file(void *p, size_t bytes, int fd);
/* Stores zeros by atomic 8-byte words, since another thread may read at the same time. `p` and `bytes` are
 * multiples of 8. */
void hd_os_memory_clear(void *p, size_t bytes);

/* 1: built with a sanitizer's instrumentation. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HD_SANITIZED 1
#endif
#endif
#ifndef HD_SANITIZED
#define HD_SANITIZED 0
#endif

/* Bytes to add to the stack of each thread: the thread sanitizer refuses small stacks. */
#if defined(__SANITIZE_THREAD__)
#define HD_OS_STACK_EXTRA (2u << 20)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HD_OS_STACK_EXTRA (2u << 20)
#endif
#endif
#ifndef HD_OS_STACK_EXTRA
#define HD_OS_STACK_EXTRA 0u
#endif

/* A thread with all signals blocked and a private, empty descriptor table. */
struct hd_os_thread {
    uint64_t handle[1]; /* pthread_t */
    bool started;
};
/* Starts a thread that calls `run(arg)` on the caller's memory `stack`. Where thread-local variables of the
 * program's modules leave too little of that stack, libc allocates the stack instead.
 * 0 or a negative errno value. -EPERM, -ENOSYS: the system denies a private descriptor table. Then no thread
 * runs, since a shared table would show our descriptors to the program. */
int hd_os_thread_start(struct hd_os_thread *t, void *stack, size_t stack_bytes, void *(*run)(void *),
                       void *arg);
/* Waits for the thread's end. Nothing to do for a thread that did not start. */
void hd_os_thread_join(struct hd_os_thread *t);
/* Starts a detached thread for calls back into the program: all signals blocked, the program's descriptor
 * table, a stack of libc's. 0 or a negative errno value. */
int hd_os_thread_start_shared(void *(*run)(void *), void *arg);
/* Says before the thread ends that no thread will join it. Only a sanitizer's runtime needs to know, since
 * it counts threads. */
void hd_os_thread_detach(struct hd_os_thread *t);

/* libc's flag that the process has one thread: __libc_single_threaded, since glibc 2.32. Two copies at most;
 * NULL: no copy, as in the library. While the flag is set, libc's locks, reference counts and cancellation
 * points are cheap. A second thread makes each call that can be cancelled 30 ns slower.
 * Our threads use none of these. hd_os_thread_start therefore sets the flag again if it was set before. */
struct hd_os_single_threaded {
    char *flag[2];
};
extern struct hd_os_single_threaded hd_os_single_threaded;
void hd_os_set_single_threaded(bool single);

#endif
