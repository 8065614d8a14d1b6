/* SPDX-License-Identifier: MIT
 *
 * A program of docs/loops.md: one loop, by its adapter, in seven cases. loops.c has the cases and main(); the
 * program has the functions below.
 *
 *   PROGRAM io|timer|idle|nested|two|quiet|cost SPOOL
 */
#ifndef TEST_LOOPS_H
#define TEST_LOOPS_H

#include <stdbool.h>

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

struct loop; /* the program's own */

/* One call that a loop owes. */
struct call {
    void (*run)(struct loop *loop, void *argument);
    void *argument;
};

/* A loop of the calling thread. It has a watch with that name; NULL: it is not watched. */
struct loop *loop_make(const char *name);
/* Runs the loop until loop_quit(). In a callback: a nested loop, whose loop_quit() does not end the outer
 * one. */
void loop_run(struct loop *loop);
void loop_quit(struct loop *loop);
/* NULL: loops of this kind do not nest. */
extern const char *const loop_never_nests;
/* Calls whenever the descriptor is readable, until the loop ends. */
void loop_on_input(struct loop *loop, int fd, struct call call);
/* Calls once, after so many milliseconds. Several may be due. */
void loop_after(struct loop *loop, unsigned ms, struct call call);
/* Calls once, in the loop's hook for idle work. */
void loop_on_idle(struct loop *loop, struct call call);
/* Ends the watch, and frees what loop_make() made. */
void loop_free(struct loop *loop);

#ifdef __cplusplus
}
#endif
#endif
