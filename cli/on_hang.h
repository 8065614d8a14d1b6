/* SPDX-License-Identifier: MIT
 *
 * The user's command for each hang (--on-hang): one at a time, in the order of the hangs, beside the program.
 * Ordinary code.
 */
#ifndef CLI_ON_HANG_H
#define CLI_ON_HANG_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ON_HANG_QUEUE 16

struct on_hang {
    const char *command;        /* NULL: nothing is ever run */
    pid_t running;              /* leader of a process group of its own; 0: none */
    char *queue[ON_HANG_QUEUE]; /* reports' paths, oldest first */
    size_t queued;
    unsigned long left_out; /* reports that there was no room for, or no process, or no time at the end */
};

/* Runs the command with this report, now or when those before it have ended. Never waits. */
void on_hang_add(struct on_hang *o, const char *report);
/* SIGCHLD came: the next one, if one has ended. */
void on_hang_reap(struct on_hang *o);
static inline bool on_hang_busy(const struct on_hang *o) {
    return o->running != 0;
}
/* Nobody waits any longer: what runs is asked to end (SIGTERM), what is queued is left out. */
void on_hang_stop(struct on_hang *o);

#endif
