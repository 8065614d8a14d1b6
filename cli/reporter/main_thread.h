/* SPDX-License-Identifier: MIT
 *
 * Where the program's main thread spends its time while no loop is known: /proc is sampled now and then. For
 * the summary of a run without a loop; nothing of it runs in the program. Plain values, for shared memory.
 */
#ifndef CLI_MAIN_THREAD_H
#define CLI_MAIN_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum main_thread_state {
    MAIN_THREAD_RAN,
    MAIN_THREAD_CHILD, /* waited for a child */
    MAIN_THREAD_LOCK,  /* for another thread: futex */
    MAIN_THREAD_SLEPT,
    MAIN_THREAD_LOOP,  /* in a call that a loop may wait in */
    MAIN_THREAD_INPUT, /* for a descriptor: read, accept, recv */
    MAIN_THREAD_OTHER,
    MAIN_THREAD_STARTED, /* for a thread of ours, when the watch began: nothing of the program's */
    MAIN_THREAD_STATES,
};

#define MAIN_THREAD_NAMES 4

struct main_thread {
    uint64_t spent_ns[MAIN_THREAD_STATES];
    enum main_thread_state state; /* at the last sample */
    uint64_t last_ns, due_ns, step_ns;
    char call[MAIN_THREAD_STATES][20]; /* the last one seen; empty: not known */
    pid_t child;                       /* its only one, when it waited for a child; 0: not known */
    char child_name[16];
    char thread[MAIN_THREAD_NAMES][16]; /* names of other threads that waited */
    uint32_t threads;
    bool has_others; /* threads that are not ours */
};

/* Takes a sample where it is due, of other threads' names too if `threads`. When the next one is due. */
uint64_t main_thread_sample(struct main_thread *t, pid_t pid, uint64_t started_ns, uint64_t now_ns,
                            bool threads);
/* The time since the last sample is spent as it was then. */
void main_thread_end(struct main_thread *t, uint64_t ended_ns);
/* Reads the present state of a process's main thread. False: the thread has ended. */
bool main_thread_read_state(pid_t pid, enum main_thread_state *state);
/* The state with most of the time. */
enum main_thread_state main_thread_most(const struct main_thread *t);

#endif
