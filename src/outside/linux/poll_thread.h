/* SPDX-License-Identifier: MIT
 *
 * A thread of another process, as the hook's looks see it in /proc. Ordinary code, on the hook's thread.
 */
#ifndef HD_POLL_THREAD_H
#define HD_POLL_THREAD_H

#include "outside/linux/poll_kinds.h"
#include "outside/linux/poll_turn.h"

struct hd_perf_proof;
struct hd_perf_switches;

struct hd_poll_thread {
    struct hd_poll_thread *next, *chain; /* of the hook: all threads, and those of one bucket */
    pid_t pid, tid;
    bool unwatched, ended;
    int syscall_fd, schedstat_fd; /* of this thread, also after another thread has got its number */
    struct hd_poll_kinds kinds;
    struct hd_poll_turn turn;
    struct hd_perf_proof *proof;       /* while the thread is under suspicion; else NULL */
    struct hd_perf_switches *switches; /* NULL: not recorded */
    uint64_t no_proof_until_ns;        /* the kernel has refused one */
};

/* Fills the members proven_ns and blocked_ns of the look, and may change t->turn.waited_ns. */
typedef void (*hd_poll_prove)(struct hd_poll_thread *t, struct hd_poll_look *look);

/* Zeros *t and opens the thread's files. `look_ns`: the time between two looks. 0 or a negative errno value.
 */
int hd_poll_thread_open(struct hd_poll_thread *t, pid_t pid, pid_t tid, uint64_t look_ns);
void hd_poll_thread_close(struct hd_poll_thread *t);

/* The result of a look, besides the state in t->turn. */
struct hd_poll_seen {
    bool new_kind, turn_ended;
    struct hd_hook_sight sight; /* if new_kind */
    struct hd_hook_turn turn;   /* if turn_ended */
};

/* Reads the thread's files. `prove`: NULL for none. 0; -ESRCH: the thread has ended; or the
 * error of the read, such as -EACCES after an exec. */
int hd_poll_thread_look(struct hd_poll_thread *t, hd_poll_prove prove, struct hd_poll_seen *seen);

/* True: a thread in this kind of wait waits in its loop. */
static inline bool hd_poll_thread_is_idle(const struct hd_poll_thread *t, int32_t kind) {
    return kind != HD_POLL_NO_KIND && t->kinds.kind[kind].verdict == HD_WAIT_IDLE;
}

#endif
