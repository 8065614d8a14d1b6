/* SPDX-License-Identifier: MIT
 *
 * Worker: what the call waits for that a thread is blocked in, from /proc of this process. No allocation.
 */
#ifndef HD_PROBE_H
#define HD_PROBE_H

#include "image/functions.h"
#include "image/modules.h"

/* What a descriptor is, as its link in /proc says. */
enum hd_fd_kind {
    HD_FD_NONE,
    HD_FD_FILE,
    HD_FD_INET,
    HD_FD_UNIX,
    HD_FD_PIPE,
    HD_FD_EPOLL,
    HD_FD_EVENT,
    HD_FD_TTY,
    HD_FD_OTHER,
    HD_FD_PROCESS /* a pidfd, which is only waited for among others: it needs no name */
};

enum hd_pressure {
    HD_PRESSURE_MEMORY,
    HD_PRESSURE_CPU,
    HD_PRESSURE_IO,
    HD_PRESSURES
};

enum hd_collector {
    HD_COLLECTOR_NONE,
    HD_COLLECTOR_PYTHON,
    HD_COLLECTOR_V8
};

/* One sample's evidence, gathered by the worker. */
struct hd_probe {
    uint64_t for_ns;        /* how long this sample stands for */
    uint64_t cpu_ns;        /* growth of the thread's CPU time over it */
    uint64_t delay_ns;      /* growth of its run-queue delay */
    uint8_t state;          /* enum hd_run_state */
    int32_t syscall_nr;     /* HD_SYSCALL_NONE */
    uint8_t fd_kind;        /* of the descriptor in the call, or of those waited for (enum hd_fd_kind) */
    uint64_t socket;        /* inode of the one socket or pipe that is waited for; 0: none, or several */
    bool has_fds;           /* a poll, select or epoll that waits for any descriptor at all */
    bool child_alive;       /* a child process started during this turn is alive, or has the pipe's end */
    bool vforked;           /* a clone that waits until its child has memory of its own, or has ended */
    bool not_a_hang;        /* no hang: a child has the terminal, or another thread serves the loop */
    int32_t child_pid;      /* of it, or of a wait for one; 0 */
    char child_name[16];    /* its program's; empty: not known */
    uint64_t child_ns;      /* when it was started, at the latest; UINT64_MAX: that does not matter */
    char path[64];          /* base name of the file; empty */
    char peer[64];          /* peer of the socket; empty */
    uint64_t lock_address;  /* futex */
    int32_t lock_owner_tid; /* 0: none is claimed */
    int32_t joined_tid;     /* the thread whose end it waits for; 0 */
    bool gil;               /* the lock is Python's global one */
    uint8_t collects;       /* enum hd_collector: the garbage collector that the thread runs */
    uint8_t lock_kind;      /* enum hd_lock_kind */
    uint32_t lock_readers;  /* that a writer waits for; 0: none are known */
    bool display;           /* the peer is the display's server */
    bool draws;             /* it runs in a toolkit's code; `path` is the library */
    bool ownable;           /* it waits for a lock that stores its owner */
    bool owned;             /* and that has stored a living one */
    bool several;           /* of summed ones: others owned it, or were the child, too */
    const char *request;    /* a function that asks another process, whose reply a thread waits for; NULL */
    const char *awaited;    /* what that is */
};

/* What the questions need of the process; made once, on the worker. */
struct hd_probe_context {
    int proc_fd; /* /proc/self, kept; or another process's folder */
    int mem_fd;
    int pid;
    /* The thread that calls itself `tid` in its namespace of processes; NULL: that is its id here, too. */
    int (*thread_called)(void *arg, int tid);
    void *thread_arg;
    struct hd_modules *modules;
    uint64_t in_libc;            /* an address of the C library */
    struct hd_functions locks;   /* which functions wait for locks */
    struct hd_functions replies; /* which functions ask other processes */
    uint32_t descriptor_tid;     /* where libc's descriptor of a thread has its number; 0: not known */
    uint32_t descriptor_self;    /* which of its first words point to itself, by bit */
    int throttled_fd;
    int pressure_fd[HD_PRESSURES], memory_used_fd, memory_limit_fd; /* the worker's alone */
};

/* The descriptors first: the modules are read by one of them. */
void hd_probe_context_open(struct hd_probe_context *ctx);
void hd_probe_context_init(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid);
/* The same for another process, with its proc_fd, mem_fd and pid set: `in_libc` is an address of its C
 * library. */
void hd_probe_context_init_other(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid,
                                 uint64_t in_libc);

/* Evidence of one capture of thread `tid`, with its frames, in a turn that began at `turn_ns`. */
void hd_probe_read(struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count, uint64_t turn_ns, struct hd_probe *out);

/* The base name of the file that the call of thread `tid` works on; false: it has none. */
bool hd_probe_file(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c, char path[64]);

/* The owner of the lock that a thread with these frames waits for, 0: none is claimed. */
int hd_lock_owner(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count);
/* The same where the kind is known. `is_one`: an owner was seen before, and may have ended since the capture.
 */
int hd_lock_owner_now(const struct hd_probe_context *ctx, const struct hd_capture *c, enum hd_lock_kind kind,
                      bool is_one);

#endif
