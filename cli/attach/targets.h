/* SPDX-License-Identifier: MIT
 *
 * The processes that the user names: by number, by name, by unit, by user, or all. Processes that start later
 * are found by looking at /proc again. One thread.
 */
#ifndef CLI_ATTACH_TARGETS_H
#define CLI_ATTACH_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/attach/attach_options.h"
#include "cli/base/error.h"

/* A process that a scan of /proc has met. */
struct target_seen {
    int pid;
    uint8_t looks; /* several, since a new process may become another program */
};

struct targets {
    const struct attach_options *options;
    uid_t uid;                /* of --user */
    char unit[256];           /* "web.service" */
    struct target_seen *seen; /* by number */
    size_t seen_count;
    bool scripts; /* a name is that of a script */
    bool started;
    /* The user names the process, or a rule of the user's finds it. `named`: by its number. */
    void (*found)(void *arg, int pid, bool named);
    void *arg;
};

/* 0; -1: a user or a name that is not there, and why. */
int targets_start(struct targets *t, const struct attach_options *o, struct problem *why);
void targets_end(struct targets *t);

/* The first time: calls `found` for all. Later: for those that are new. */
void targets_scan(struct targets *t);

/* "redis-server, nginx": what later scans look for, for a person. */
void targets_text(const struct targets *t, char *text, size_t size);

/* True: a later scan may find more. */
bool targets_may_grow(const struct targets *t);

#endif
