/* SPDX-License-Identifier: MIT
 *
 * The processes that the program started: /proc is sampled now and then, more rarely the longer the run. For
 * the summary, which names those that were not watched. Nothing of it runs in a process of the program's.
 * Plain values, for shared memory.
 */
#ifndef CLI_CHILD_SAMPLES_H
#define CLI_CHILD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_SAMPLES_MAX 32

struct child_sample {
    pid_t pid;
    char name[48]; /* "node (server.js)" */
    uint64_t first_ns, last_ns;
    uint32_t looks, waits; /* in how many its main thread was in a call that a loop waits in */
    uint32_t word;         /* of the program's words the one that it runs; 0: none */
    bool page;             /* of a browser: it shows pages */
};

struct child_samples {
    uint64_t due_ns, started_ns;
    uint32_t count;
    struct child_sample child[CHILD_SAMPLES_MAX];
};

/* Looks at the descendants of `pid`, which was run by `words`, where it is time. When the next look is due.
 */
uint64_t child_samples_take(struct child_samples *s, pid_t pid, char *const *words, uint64_t now_ns);
/* The one that waited as a loop does and lived longest, and how many did; NULL: none lived for a second. */
const struct child_sample *child_samples_loop(const struct child_samples *s, uint32_t *count);
/* A browser's process for pages, NULL: there was none. */
const struct child_sample *child_samples_page(const struct child_samples *s);

#endif
