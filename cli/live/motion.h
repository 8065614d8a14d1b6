/* SPDX-License-Identifier: MIT
 * Whether threads ran between two looks at a process, for `hangdog dump --watch`. Ordinary code.
 */
#ifndef CLI_LIVE_MOTION_H
#define CLI_LIVE_MOTION_H

#include <jansson.h>
#include <stddef.h>

struct motion_thread;

struct motion {
    struct motion_thread *thread;
    size_t count;
};

/* Stores how often each thread of the report has run, and its own function. motion_free it. */
void motion_take(struct motion *m, int proc_fd, const json_t *report);
/* Adds "motion" to each thread of the later report that is in `before`. parked: it has not run. spinning: it
 * ran, did not wait, and is in the same function. moving: it ran, and neither. */
void motion_add(const struct motion *before, const struct motion *now, json_t *report);
void motion_free(struct motion *m);

#endif
