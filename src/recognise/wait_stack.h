/* SPDX-License-Identifier: MIT
 *
 * From the walked stack of a wait to its call site, and to what its functions say. No allocation, no lock;
 * may run in a hang.
 */
#ifndef HD_WAIT_STACK_H
#define HD_WAIT_STACK_H

#include "image/functions.h"
#include "recognise/loop_option.h"
#include "recognise/wait_seen.h"
#include "unwind/unwind.h"

struct hd_wait_stack {
    const struct hd_frame *frames; /* innermost first */
    const struct hd_walk *walk;    /* how far they go */
    uint64_t copied_from;          /* address of the copy: each frame's `at` counts from here */
    uint64_t caller_sp;            /* the program's stack pointer at its call of the wait function */
    bool coroutine;                /* not on the thread's own stack */
};

/* Fills `at` and `stack` of `seen`. `known` caches addresses of known functions; `option` is the user's. */
void hd_wait_stack_read(const struct hd_wait_stack *s, struct hd_modules *m, struct hd_functions *known,
                        struct hd_loop_option *option, struct hd_wait_seen *seen);

#endif
