/* SPDX-License-Identifier: MIT
 *
 * The agent's first process. It runs the agent in a second one. It replaces that one when a file of a watched
 * process does not answer (a network file system, FUSE), or when the watch crashes. The new one leaves that
 * process out for an hour, and as long as the old one stays. After three processes of a user it leaves out
 * all programs of this user, if it is not root. One thread.
 */
#ifndef AGENT_SUPERVISOR_H
#define AGENT_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/outside/working.h"

#define SUPERVISOR_LEFT 48u /* each may have a second process that stays: TasksMax of the unit */
#define SUPERVISOR_OF_USER 3u

/* Memory that both processes share. */
struct supervision {
    struct working now;
    uint64_t pause_ns;        /* before the first new start of one that was killed, 10 s; later ones double */
    sigset_t before;          /* the signals that were blocked */
    uint64_t people_until_ns; /* too many processes do not answer: all users of people are left out */
    struct supervision_left {
        pid_t pid;
        uid_t user;
        _Atomic pid_t stays; /* the old second process, while it is there; 0: it has ended */
        uint64_t started_ns; /* of the process, CLOCK_BOOTTIME */
        uint64_t until_ns;   /* CLOCK_MONOTONIC */
    } process[SUPERVISOR_LEFT];
};

/* NULL: no memory. */
struct supervision *supervision_create(void);

/* Runs work(arg) in a second process until that returns. Returns its status. The first process passes
 * SIGTERM, SIGINT and SIGHUP on. They stay blocked in the second process until it calls
 * supervision_take_signals. */
int supervise(struct supervision *s, int (*work)(void *arg), void *arg);

/* Unblocks these signals. The second process calls it once its handlers are set. */
void supervision_take_signals(const struct supervision *s);

/* The process is left out for now, or the user is. */
bool supervision_leaves(const struct supervision *s, pid_t pid, uint64_t started_ns, uid_t user,
                        uint64_t now_ns);

#endif
