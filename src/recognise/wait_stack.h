/* SPDX-License-Identifier: MIT
 *
 * Finds out the call site of a wait, and the facts that the functions on the stack show about the wait. The
 * input is the unwound stack. No allocation, no lock; may run in a hang.
 */
#ifndef HD_WAIT_STACK_H
#define HD_WAIT_STACK_H

#include "image/functions.h"
#include "recognise/loop_option.h"
#include "recognise/wait_seen.h"
#include "unwind/unwind.h"

struct hd_wait_stack {
    const struct hd_frame *frames; /* innermost first */
    const struct hd_walk *walk;    /* the result of the unwinding: the number of frames, and why it ended */
    /* the address of the first byte of the stack's copy; a frame's `at` is an offset from it */
    uint64_t copied_from;
    uint64_t caller_sp; /* the stack pointer at the program's call of the wait function */
    bool coroutine;     /* true: the wait is not on the thread's own stack */
};

/* Fills seen->at and seen->stack from the stack `s` of a wait. `known` caches the addresses of the functions
 * in known_functions.c. `option` is the user's option --loop. */
void hd_wait_stack_read(const struct hd_wait_stack *s, struct hd_modules *m, struct hd_functions *known,
                        struct hd_loop_option *option, struct hd_wait_seen *seen);

#endif
