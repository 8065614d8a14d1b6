/* SPDX-License-Identifier: MIT
 *
 * The agent's first process. It runs the agent in a second one, and ends that one when a file of a watched
 * process does not answer (a network file system, FUSE), or when the watch of a process crashes. It then
 * starts a new one, which leaves that process out for an hour. One thread.
 */
#ifndef AGENT_SUPERVISOR_H
#define AGENT_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/outside/working.h"

#define SUPERVISOR_LEFT 16u

/* Memory that both processes share. */
struct supervision {
    working now;
    _Atomic uint32_t left; /* how many of `process` are in use */
    struct {
        pid_t pid;
        uint64_t started_ns; /* of the process, CLOCK_BOOTTIME */
        uint64_t until_ns;   /* CLOCK_MONOTONIC */
    } process[SUPERVISOR_LEFT];
};

/* NULL: no memory. */
struct supervision *supervision_create(void);

/* Runs work(arg) in a second process until it returns. Returns its status. Passes on SIGTERM, SIGINT and
 * SIGHUP, whose handlers are the second process's own. */
int supervise(struct supervision *s, int (*work)(void *arg), void *arg);

/* The process is left out for now. */
bool supervision_leaves(const struct supervision *s, pid_t pid, uint64_t started_ns, uint64_t now_ns);

#endif
