/* SPDX-License-Identifier: MIT
 *
 * The stacks of a report with their times, as every format wants them. Reports come from anywhere: what is
 * missing or of another type reads as none. Ordinary code.
 */
#ifndef CLI_EXPORT_STACKS_H
#define CLI_EXPORT_STACKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hostile report repeats a deep stack often, and has threads without number. A real one has less: what
 * is beyond these is left out. A frame counts more than once where its name is long. */
#define EXPORT_DEPTH_MAX 1000
#define EXPORT_FRAMES_MAX ((size_t)1 << 17)
#define EXPORT_NAME_CHARS 64 /* that count as one frame */
#define EXPORT_THREADS_MAX 4096
#define EXPORT_OTHERS_FRAMES_MAX 8192 /* of threads not watched, in reports of other machines */
#define EXPORT_NODES_MAX 8192         /* of the tree: four times what is written */

struct export_stack {
    const json_t **frame; /* innermost first, borrowed of the report */
    size_t count;         /* 0: the time has no stack */
    int64_t at_ns;        /* since the report's start */
    int64_t ns;
};

struct export_thread {
    int64_t tid;
    const char *name; /* empty: none */
    bool watched;     /* its stacks are samples of the whole time, in order; others have one stack */
    bool timed;       /* of a stalled pool: its one stack has the time for which the thread stood in it */
    struct export_stack *stack;
    size_t count;
};

struct export_threads {
    const json_t *report;
    struct export_thread *thread; /* the watched one first; a pool's stall has none */
    size_t count;
};

/* False: no memory. The caller frees in both cases. */
bool export_threads_read(const json_t *report, struct export_threads *out);
void export_threads_free(struct export_threads *t);

/* Time of all stacks of the thread. */
int64_t export_thread_ns(const struct export_thread *thread);
/* The thread's name, else "thread 4711". Caller frees; NULL: no memory. */
char *export_thread_label(const struct export_thread *thread);

/* A frame's function as `hangdog show` names it; NULL is time without a stack. Caller frees; NULL: no memory.
 */
char *export_frame_name(const json_t *report, const json_t *frame);

/* The thread of the hot stack: the watched one, or one of the stalled pool. */
int64_t export_tid(const json_t *report);

/* A member of the report from 0 to the largest; of another type: 0. */
int64_t export_number(const json_t *object, const char *name);
/* "0x7f01" as a number. */
uint64_t export_address(const json_t *object, const char *name);
/* The report's start, since 1970. */
int64_t export_started_ns(const json_t *report);

#endif
