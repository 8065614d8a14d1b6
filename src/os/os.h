/* SPDX-License-Identifier: MIT
 *
 * All that differs between operating systems: system calls, the clock, threads.
 *
 * System calls go through one table, `hd_os`, so that a test can make the nth call fail. The calls go
 * directly to the kernel: no interposer (Hangdog's, a sanitizer's, libfaketime's) sees them. Every member
 * returns a negative errno value on failure, never sets errno, is not a cancellation point, and is
 * async-signal-safe.
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
    int (*rename_at)(int dir, const char *from, const char *to); /* both paths are relative to `dir` */
    int (*unlink_at)(int dir, const char *path);
    int (*mkdir_at)(int dir, const char *path, int mode);
    int (*chmod_at)(int dir, const char *path, int mode); /* an empty path means the folder `dir` itself */
    int (*ftruncate)(int fd, uint64_t size);
    int (*flock)(int fd, int operation);
    long (*readlink_at)(int dir, const char *path, char *buf, size_t n); /* stores no NUL at the end */
    long (*get_xattr)(const char *path, const char *name, void *value, size_t n); /* follows links */
    /* Reads the next names of an open folder, "." and ".." too. Stores them one after the other, each with a
     * NUL at its end. Returns the number of bytes; 0: there is no further name. `names` is aligned to 8 bytes
     * and has at least 512. */
    long (*read_names)(int fd, char *names, size_t n);
    /* `st` is a struct stat. An empty path means the file `dir` itself. */
    int (*stat_at)(int dir, const char *path, void *st, int flags);
    /* Reads the file's type (the S_IFMT bits) from the kernel's cache, so the call never blocks for a file
     * server's answer. */
    int (*file_type_at)(int dir, const char *path, uint32_t *type);
    /* Returns the mapped memory, or an error value that hd_os_map_error recognises. */
    void *(*map)(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset);
    int (*unmap)(void *addr, size_t n);
    int (*advise)(void *addr, size_t n, int advice);
    int (*protect)(void *addr, size_t n, int prot);
    /* Blocks while *word == expected, until `until_ns` (CLOCK_MONOTONIC; UINT64_MAX: no limit). Returns 0
     * after a wake, -EAGAIN if *word differs, -ETIMEDOUT at `until_ns`, or -EINTR. `shared`: several
     * processes share the word's memory. */
    int (*futex_wait)(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared);
    int (*futex_wake)(uint32_t *word, int count, bool shared);
    int (*signal_thread)(int pid, int tid, int signal, uint64_t value);         /* rt_tgsigqueueinfo */
    int (*signal_action)(int signal, const void *new_action, void *old_action); /* kernel's sigaction */
    int (*alt_stack)(const void *new_stack, void *old_stack);                   /* stack_t */
    /* Changes the calling thread's signal mask. Bit n - 1 of a set is signal n. */
    int (*signal_mask)(int how, const uint64_t *set, uint64_t *old);
    /* Gives the calling thread a private descriptor table. 0: the table is empty. 1: the table is a copy of
     * the program's, and the caller must empty it by close_all. Negative: the thread still shares the
     * program's table. */
    int (*private_table)(void);
    /* Closes all descriptors of the private table. The call may block for a file system, as close may. */
    void (*close_all)(void);
    int (*set_thread_name)(const char *name); /* names the calling thread */
    int (*get_thread_name)(char name[16]);    /* reads the calling thread's name */
    int (*get_pid)(void);
    uint64_t (*get_tid)(void); /* the number of struct hd_thread_id */
    long (*get_random)(void *buf, size_t n);
    int (*wall_clock)(uint64_t *ns); /* CLOCK_REALTIME */
    int (*boot_clock)(uint64_t *ns); /* CLOCK_BOOTTIME, which counts the time of a system suspend too */
    /* The vDSO's clock_gettime, which hd_os_now_ns calls. NULL: hd_os_now_ns makes a system call.
     * hd_os_clock_init stores the vDSO's function only if the member is NULL, so a test can store another one
     * first. */
    int (*clock)(int clock, struct timespec *time);
    /* Reads the CPU time of a thread of this process. -EINVAL: the thread has ended. */
    int (*thread_cpu_clock)(uint64_t tid, uint64_t *ns);
    /* Reads memory of process `pid`, which may be this process (process_vm_readv). Returns the number of
     * bytes read. If a part of the memory is unmapped, the number may be below `n`, or the result is
     * -EFAULT. */
    long (*read_memory)(int pid, uint64_t addr, void *buf, size_t n);
};

/* Returns the negative errno value that a result of hd_os.map has instead of memory. 0: the result is
 * memory. */
static inline int hd_os_map_error(const void *p) {
    return (uintptr_t)p >= (uintptr_t)-4095 ? (int)(intptr_t)p : 0;
}

/* The system calls that Hangdog uses. Only a test replaces members after Hangdog's start. */
extern struct hd_os_calls hd_os;

/* Opens a file for reading, with O_CLOEXEC. */
int hd_os_open(int dir, const char *path);
/* Closes `fd`, or does nothing if `fd` is negative. */
void hd_os_close(int fd);
/* Opens a folder only as the start of paths. Where the system can, this needs no right to read the folder.
 * `follow` false: the last part of `name` must be no link. Returns a descriptor or a negative errno value. */
int hd_os_open_folder(int dir, const char *name, bool follow);
/* Opens this process's memory for the calling thread. The descriptor is for reads that may fail. Negative:
 * the system refuses, or needs no descriptor. */
int hd_os_open_memory(void);
/* Returns when the file of a struct stat was last changed, in nanoseconds of CLOCK_REALTIME. */
struct stat;
uint64_t hd_os_modified_ns(const struct stat *st);
/* True: the calling thread is the process's first one. */
bool hd_os_is_main_thread(void);
/* True: the process has rights that the user who started it has not. Its environment is not to be trusted. */
bool hd_os_has_more_rights(void);
/* Returns CLOCK_REALTIME in nanoseconds; 0: the clock cannot be read. */
uint64_t hd_os_wall_ns(void);

/* Returns how many of the `n` bytes at `addr` a read of /proc/self/mem can get without harm to the program.
 * For the harm see page_map.c. A page is touched if it is in memory or in swap. The bytes
 * up to the end of the last touched page count. 0: the first page is untouched or unmapped. If the kernel
 * does not say which pages are touched, the function returns `n`.
 *
 * hd_os_touched_open opens the descriptor that hd_os_touched needs. It does so for the calling thread
 * only. */
size_t hd_os_touched(uint64_t addr, size_t n);
void hd_os_touched_open(void);
void hd_os_touched_close(void);

/* Returns CLOCK_MONOTONIC in nanoseconds. Reads the vDSO's clock, since an interposer may have replaced
 * libc's. Async-signal-safe. */
uint64_t hd_os_now_ns(void);
/* Sleeps for `ns`. A signal ends the sleep early. */
void hd_os_nap(uint64_t ns);

/* The two functions return the CPU time of the calling thread, and of the whole process, in nanoseconds.
 * Async-signal-safe. */
uint64_t hd_os_thread_cpu_ns(void);
uint64_t hd_os_process_cpu_ns(void);

/* Finds the vDSO's clock. The caller calls this function before the first hd_os_now_ns; further calls do
 * nothing. */
void hd_os_clock_init(void);

/* True: the kernel's clock source is the CPU's time-stamp counter. If it is not, marks must not use the
 * counter as their time. */
bool hd_os_ticks_usable(void);
/* True: differences of the time-stamp counter are good as times. The kernel's clock source is the counter, or
 * it is KVM's clock and the counter has a constant rate. If a guest migrates to another machine, one
 * difference may be wrong. */
bool hd_os_ticks_steady(void);

/* ---- memory and threads, by src/os/linux/setup.c only -------------------------------------- */

/* Maps zeroed anonymous memory. In a forked child, the kernel makes the memory zero again. NULL: the kernel
 * refused. */
void *hd_os_memory_take(size_t bytes);
/* Unmaps; ignores NULL. */
void hd_os_memory_give(void *p, size_t bytes);
/* Replaces the pages at `p` in one step. With a file `fd`, the new pages are a shared mapping of it; with
 * `fd` -1 they are private zeroed memory. Returns 0 or a negative errno value. */
int hd_os_memory_of_file(void *p, size_t bytes, int fd);
/* Stores zeros in the `bytes` bytes at `p`. Each store is an atomic one of 8 bytes, since another thread may
 * read at the same time. `p` and `bytes` are multiples of 8. */
void hd_os_memory_clear(void *p, size_t bytes);

/* 1: a sanitizer instruments this build. */
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

/* The number of bytes to add to the stack of each thread of Hangdog. The thread sanitizer refuses small
 * stacks. On arm64, glibc does so below PTHREAD_STACK_MIN, 128 KiB; what the threads do not use takes no
 * memory. */
#if defined(__SANITIZE_THREAD__)
#define HD_OS_STACK_EXTRA (2u << 20)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HD_OS_STACK_EXTRA (2u << 20)
#endif
#endif
#ifndef HD_OS_STACK_EXTRA
#if defined(__linux__) && defined(__aarch64__)
#define HD_OS_STACK_EXTRA (96u << 10)
#else
#define HD_OS_STACK_EXTRA 0u
#endif
#endif

/* A thread of Hangdog. It blocks all signals, and has a private descriptor table, which is empty at first. */
struct hd_os_thread {
    uint64_t handle[1]; /* pthread_t */
    bool started;
};
/* Starts a thread that calls `run(arg)` on the caller's memory `stack`. If thread-local variables of the
 * program's modules leave too little of that stack, libc allocates the stack instead.
 *
 * Returns 0 or a negative errno value. -EPERM or -ENOSYS: the system denies a private descriptor table. In
 * this case `run` is not called, since a shared table would show our descriptors to the program. */
int hd_os_thread_start(struct hd_os_thread *t, void *stack, size_t stack_bytes, void *(*run)(void *),
                       void *arg);
/* Blocks until thread `t` has ended. Returns at once if the thread was not started. */
void hd_os_thread_join(struct hd_os_thread *t);
/* Starts a detached thread that may call the program's functions. The thread blocks all signals, shares the
 * program's descriptor table, and has a stack that libc allocates. Returns 0 or a negative errno value. */
int hd_os_thread_start_shared(void *(*run)(void *), void *arg);
/* Marks `t` as a thread that no other thread will join. The caller does this before `t` ends. Only a
 * sanitizer's runtime needs the mark, since it counts threads. */
void hd_os_thread_detach(struct hd_os_thread *t);

/* The addresses of libc's flag __libc_single_threaded (since glibc 2.32), which says that the process has one
 * thread. A process may have two copies of the flag. NULL: the copy does not exist. The library, unlike the
 * preload, leaves both NULL.
 *
 * While the flag is set, libc's locks, reference counts and cancellation points are cheap. The start of a
 * second thread clears the flag, which makes each call that can be cancelled 30 ns slower. Our threads need
 * no locks of libc. So hd_os_thread_start sets the flag again if it was set before. */
struct hd_os_single_threaded {
    char *flag[2];
};
extern struct hd_os_single_threaded hd_os_single_threaded;
void hd_os_set_single_threaded(bool single);

#endif
