/* SPDX-License-Identifier: MIT
 *
 * A hook finds out when threads of other processes begin and end their waits. No code of ours is in these
 * processes. Each way to hook needs other rights and has another exactness. All ways fill the same values.
 * Ordinary code, on one thread.
 */
#ifndef HD_OUTSIDE_HOOK_H
#define HD_OUTSIDE_HOOK_H

#include <sys/types.h>

#include "base/types.h"
#include "loop/wait_verdict.h"
#include "recognise/wait_seen.h"

/* How exact the turns of a hook are. A report names it as "turns". */
enum hd_hook_turns {
    HD_TURNS_EXACT,            /* each begin and end of a wait is seen when it happens */
    HD_TURNS_EXACT_IF_BLOCKED, /* exact if the thread blocked in the wait before the turn */
    HD_TURNS_POLLED            /* a turn begins and ends between two looks */
};

#define HD_HOOK_KINDS 16u /* kinds of waits of one thread; a new kind replaces the oldest */

/* The first wait of a kind. Two waits are of one kind if `nr`, `pc` and `sp` are equal. For an epoll instance
 * or an io_uring `args[0]` and `object` must be equal too. */
struct hd_hook_sight {
    uint32_t kind; /* the number of the kind in its thread, below HD_HOOK_KINDS */
    int32_t nr;    /* number of the system call */
    uint64_t args[6];
    bool blocks;          /* the timeout is not zero */
    uint64_t object;      /* the kernel's address of the epoll instance: it identifies one; 0: not known */
    uint64_t at_ns;       /* before that the thread was in no wait of this kind since the watch began */
    struct hd_regs regs;  /* of the program, at the call */
    const uint8_t *stack; /* from stack_addr on; NULL: the watcher reads it itself, if it can */
    uint64_t stack_addr;
    uint32_t stack_bytes;
};

/* The state of a thread at a look. A turn is the time between two of the loop's own waits. */
struct hd_hook_thread {
    bool known;          /* false: no mark since the watch began; since_ns is the begin of the watch */
    bool waits;          /* true: in a wait of the loop; false: in a turn */
    uint64_t since_ns;   /* begin of the wait or turn */
    uint64_t earlier_ns; /* by how much the turn may have begun earlier; 0: exact */
    uint64_t turns;      /* number of turns since the watch began */
    uint64_t longest_ns; /* the longest turn */
    uint64_t busy_ns;    /* the sum of all turns */
    uint64_t seen_ns;    /* when the hook saw this state; 0: the state is of now */
};

/* A long turn that has ended: exact where the hook is. */
struct hd_hook_turn {
    uint64_t start_ns, earlier_ns, end_ns;
};

/* When the caller calls `step`, and the functions that `step` calls. `tid` is the number that this process's
 * /proc has. */
struct hd_hook_events {
    void *arg;
    uint64_t look_ns; /* the time from one call of `step` to the next, if nothing is late */
    void (*sight)(void *arg, pid_t tid, const struct hd_hook_sight *sight);
    void (*turn)(void *arg, pid_t tid, const struct hd_hook_turn *turn); /* at least `long_ns` */
    void (*thread_began)(void *arg, pid_t pid, pid_t tid);
    void (*thread_ended)(void *arg, pid_t tid, uint64_t at_ns);
    void (*exec)(void *arg, pid_t pid);
};

struct hd_hook; /* a hook's own memory */

/* One kind of hook. A function that fails returns a negative errno value. */
struct hd_hook_way {
    char name[16];  /* as reports and `doctor` name it */
    char needs[96]; /* for a person: the rights or the kernel that it needs */
    enum hd_hook_turns turns;
    /* `long_ns`: turns below it have no event. -EPERM, -EACCES: the rights are missing; -ENOTSUP: the kernel
     * or this build cannot do it. */
    int (*open)(struct hd_hook **hook, const struct hd_hook_events *events, uint64_t long_ns);
    void (*close)(struct hd_hook *hook);
    /* Starts to report the waits of a thread. Until a kind has a verdict, its waits are no waits of the loop.
     */
    int (*watch)(struct hd_hook *hook, pid_t pid, pid_t tid);
    void (*unwatch)(struct hd_hook *hook, pid_t tid);
    /* HD_WAIT_IDLE: waits of this kind end and begin turns from now on, also the wait that is not over yet.
     */
    void (*judge)(struct hd_hook *hook, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict);
    void (*read)(struct hd_hook *hook, pid_t tid, struct hd_hook_thread *out);
    /* Calls `found` for each thread that is in a turn since `before_ns` or longer. Threads without a mark are
     * left out. `found` may call the functions above. */
    void (*long_turns)(struct hd_hook *hook, uint64_t before_ns, void (*found)(void *arg, pid_t tid),
                       void *arg);
    /* How many more threads can be watched. */
    uint32_t (*free_places)(const struct hd_hook *hook);
    /* Stores the times of the waits of a kind (recognise/wait_seen.h). `waits` and `waited_ns` are sums since
     * the sight, of ended waits: the caller subtracts what it has counted. */
    void (*times)(struct hd_hook *hook, pid_t tid, uint32_t kind, struct hd_wait_times *out);
    /* True: the thread has been in a turn for long, so what costs the program time may be armed for it.
     * False: it must be off. */
    void (*suspect)(struct hd_hook *hook, pid_t tid, bool on);
    /* Handles all that has come, and looks where the hook looks. Calls the events. */
    void (*step)(struct hd_hook *hook, uint64_t now_ns);
    /* becomes readable when `step` has work; -1: `step` is to be called at each look */
    int (*descriptor)(struct hd_hook *hook);
};

/* All ways of this build, in the order in which they are tried; NULL ends them. */
extern const struct hd_hook_way *const hd_hook_ways[];

#endif
