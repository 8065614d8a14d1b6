/* SPDX-License-Identifier: MIT
 *
 * The user's command for each hang (--on-hang): one at a time, in the order of the hangs, beside the program.
 * Ordinary code.
 */
#ifndef CLI_ON_HANG_H
#define CLI_ON_HANG_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct on_hang {
    pthread_mutex_t
        lock; /* one thread adds, and may be left (cli/run/second_thread.h) while another one stops it */
    const char *command;                   /* NULL: nothing is ever run */
    pid_t running;                         /* leader of a process group of its own; 0: none */
    char **given;                          /* paths of all reports that it is to be run with, oldest first */
    size_t given_count, given_room, begun; /* it was run with so many of them */
    bool stopped;
    unsigned long left_out; /* reports that there was no memory for, or no process, or no time at the end */
};

/* Runs the command with this report, now or when those before it have ended; once for each report. Never
 * waits. */
void on_hang_add(struct on_hang *o, const char *report);
/* SIGCHLD came: the next one, if one has ended. */
void on_hang_reap(struct on_hang *o);
bool on_hang_busy(struct on_hang *o);
/* Nobody waits any longer: what runs is asked to end (SIGTERM), what is queued is left out, and what comes.
 * How many were. */
unsigned long on_hang_stop(struct on_hang *o);

#endif
