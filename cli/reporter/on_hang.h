/* SPDX-License-Identifier: MIT
 *
 * The user's command for each hang (--on-hang): one at a time, in the order of the hangs, while the program
 * runs. One thread.
 */
#ifndef CLI_ON_HANG_H
#define CLI_ON_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct on_hang {
    const char *command;                         /* NULL: none is run */
    pid_t running;                               /* leader of a process group of its own; 0: none */
    char **given;                                /* paths of all reports for the command, oldest first */
    size_t given_count, given_capacity, started; /* `started`: number of runs so far */
    bool stopped;
    unsigned long skipped; /* reports for which there was no memory, no process, or no time at the end */
};

/* Runs the command with this report, now or when those before it have ended. Never waits. */
void on_hang_add(struct on_hang *o, const char *report);
/* SIGCHLD came: starts the next one, if one has ended. */
void on_hang_reap(struct on_hang *o);
bool on_hang_busy(const struct on_hang *o);
/* Ends what runs (SIGTERM), and skips what waits and what comes. How many were skipped. */
unsigned long on_hang_stop(struct on_hang *o);

#endif
