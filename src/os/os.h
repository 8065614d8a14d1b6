/* SPDX-License-Identifier: MIT
 *
 * All that differs by system: system calls, clock, threads. The same header for every system.
 *
 * System calls go through one table, so that a test can make the nth one fail and so that no
 * interposer (ours, a sanitizer's, libfaketime's) stands between the library and the kernel.
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
    int (*rename_at)(int dir, const char *from, const char *to);
    int (*unlink_at)(int dir, const char *path);
    int (*mkdir_at)(int dir, const char *path, int mode);
    int (*chmod_at)(int dir, const char *path, int mode); /* an empty path: of `dir` itself */
    int (*ftruncate)(int fd, uint64_t size);
    int (*flock)(int fd, int operation);
    long (*readlink_at)(int dir, const char *path, char *buf, size_t n);          /* not terminated */
    long (*get_xattr)(const char *path, const char *name, void *value, size_t n); /* follows links */
    long (*getdents)(int fd, void *buf, size_t n);
    int (*stat_at)(int dir, const char *path, void *st, int flags); /* struct stat */
    /* Its type (S_IFMT) as it is known here: no server is asked. */
    int (*file_type_at)(int dir, const char *path, uint32_t *type);
    void *(*map)(void *addr, size_t n, int prot, int flags, int fd,
                 uint64_t offset); /* see hd_os_map_error */
    int (*unmap)(void *addr, size_t n);
    int (*advise)(void *addr, size_t n, int advice);
    int (*protect)(void *addr, size_t n, int prot);
    /* Waits while *word == expected, until `until_ns` (CLOCK_MONOTONIC; UINT64_MAX: for ever).
     * 0 woken, -EAGAIN the word differed, -ETIMEDOUT, -EINTR. `shared` for memory shared with others. */
    int (*futex_wait)(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared);
    int (*futex_wake)(uint32_t *word, int count, bool shared);
    int (*signal_thread)(int pid, int tid, int signal, uint64_t value);         /* rt_tgsigqueueinfo */
    int (*signal_action)(int signal, const void *new_action, void *old_action); /* kernel's own struct */
    int (*alt_stack)(const void *new_stack, void *old_stack);                   /* stack_t */
    int (*signal_mask)(int how, const uint64_t *set,
                       uint64_t *old); /* this thread's; bit n - 1 is signal n */
    /* A descriptor table of this thread's own. 0: it is empty; 1: a copy, to be emptied by close_all; else
     * this thread has that of the program as before. */
    int (*own_table)(void);
    void (*close_all)(void); /* may wait for a disk that does not answer (a network's), as close does */
    int (*set_thread_name)(const char *name);
    int (*get_thread_name)(char name[16]); /* this thread's */
    int (*get_pid)(void);
    int (*get_tid)(void);
    /* The kernel makes it zero when the calling thread leaves memory that others use too. */
    long (*get_random)(void *buf, size_t n);
    int (*wall_clock)(uint64_t *ns); /* CLOCK_REALTIME */
    int (*boot_clock)(uint64_t *ns); /* CLOCK_BOOTTIME: goes on while suspended */
    /* What hd_os_now_ns asks, in the vDSO; NULL: the kernel. hd_os_clock_init finds it where none is set. */
    int (*clock)(int clock, struct timespec *time);
    int (*thread_cpu_clock)(int tid, uint64_t *ns); /* of a thread of this process; -EINVAL: it has ended */
    /* Memory of a process (also this one) that may not be there: bytes read, may be short, or -EFAULT. */
    long (*read_memory)(int pid, uint64_t addr, void *buf, size_t n); /* process_vm_readv */
};

/* What hd_os.map returned, as an error: 0 when it is memory. */
static inline int hd_os_map_error(const void *p) {
    return (uintptr_t)p >= (uintptr_t)-4095 ? (int)(intptr_t)p : 0;
}

/* The table in use. Tests replace members; nobody else writes to it after start. */
extern struct hd_os_calls hd_os;

int hd_os_open(int dir, const char *path); /* by the table, to read */
void hd_os_close(int fd);                  /* the same; of a negative one, which is no descriptor, nothing */
uint64_t hd_os_wall_ns(void);              /* CLOCK_REALTIME, the same; 0: it cannot be read */

/* How many of `n` bytes of this process's memory may be read without a wait for those who only read the
 * memory map: all, where that is not known; up to the last page that was touched; 0 where the first was not,
 * or is not there. By a descriptor of the thread's, which opens it before. */
size_t hd_os_touched(uint64_t addr, size_t n);
void hd_os_touched_open(void);
void hd_os_touched_close(void);

/* CLOCK_MONOTONIC in nanoseconds, from the vDSO found once in hd_os_clock_init (never through
 * libc, which may be interposed). Async-signal-safe. */
uint64_t hd_os_now_ns(void);
void hd_os_nap(uint64_t ns); /* or less, after a signal */

/* CPU time of the calling thread, and of all of the process's, in ns. Async-signal-safe. */
uint64_t hd_os_thread_cpu_ns(void);
uint64_t hd_os_process_cpu_ns(void);

/* Finds the clock. Call once before anything else; cheap; idempotent. */
void hd_os_clock_init(void);

/* True when the time-stamp counter is the kernel's own clock source: only then may it stamp marks. */
bool hd_os_ticks_usable(void);
/* The same, or the clock source is KVM's, whose base is that counter: good for differences of times, where a
 * guest that moves to another machine may be wrong once. */
bool hd_os_ticks_steady(void);

/* ---- what only the set-up file may do (src/os/linux/setup.c) -------------------------------- */

/* Anonymous memory, zeroed, wiped in a forked child. NULL when there is none. */
void *hd_os_memory_take(size_t bytes);
void hd_os_memory_give(void *p, size_t bytes);
/* Pages of it become those of a file, shared, or with -1 memory of our own again, at once. 0 or a negative
 * errno value. */
int hd_os_memory_of_file(void *p, size_t bytes, int fd);
/* Zeroes it by atomic words of eight bytes, which `p` and `bytes` are multiples of: others may look
 * meanwhile. */
void hd_os_memory_clear(void *p, size_t bytes);

/* Built with a sanitizer's instrumentation. */
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

/* What a thread's stack needs besides what its code does: the thread sanitizer refuses less. */
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

/* A thread with every signal blocked and with a descriptor table of its own, empty, on the caller's stack
 * memory; where the thread-local variables of the program's modules leave too little of it, on a stack of
 * libc's. Where it can have no such table (-EPERM, -ENOSYS: the system denies it) there is no thread, for
 * what it opened would be among the program's numbers. */
struct hd_os_thread {
    uint64_t handle[1]; /* pthread_t */
    bool started;
};
int hd_os_thread_start(struct hd_os_thread *t, void *stack, size_t stack_bytes, void *(*run)(void *),
                       void *arg);
void hd_os_thread_join(struct hd_os_thread *t);
/* A thread in the program's descriptor table, on a stack of libc's, with every signal blocked: for calls back
 * into the program. Nobody joins it. 0 or a negative errno value. */
int hd_os_thread_start_shared(void *(*run)(void *), void *arg);
/* Nobody will join it, and a sanitizer's runtime that counts threads is told so. Before it is told to end. */
void hd_os_thread_detach(struct hd_os_thread *t);

/* libc's own note that the process has one thread (glibc 2.32 and later, two copies of it at most), or NULL:
 * as in the library. libc's locks, reference counts and cancellation points are dear in a process with two:
 * 30 ns for each system call that can be cancelled. Our threads use none of all that. So where these are set
 * and the note says one thread, it still does after a thread of ours was made. */
struct hd_os_single_threaded {
    char *note[2];
};
extern struct hd_os_single_threaded hd_os_single_threaded;
void hd_os_set_single_threaded(bool single);

#endif
