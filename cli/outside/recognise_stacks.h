/* SPDX-License-Identifier: MIT
 *
 * Reads the stacks of waits of other processes. Caches the modules and the unwind tables of a few processes,
 * some 300 KB each, and frees what no sight has needed for a while. One thread; ordinary code.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_STACKS_H
#define CLI_OUTSIDE_RECOGNISE_STACKS_H

#include "cli/outside/recognise_wait.h"
#include "recognise/judge.h"

struct outside_stacks; /* of a watcher, for all processes */

/* NULL: no memory. */
struct outside_stacks *outside_stacks_create(void);
void outside_stacks_destroy(struct outside_stacks *stacks); /* NULL is allowed */

/* Forgets a process: it has ended, or runs another program now. */
void outside_stacks_forget(struct outside_stacks *stacks, const struct live_process *p);
/* Frees what was not used for some seconds. Cheap: call it at each look. */
void outside_stacks_rest(struct outside_stacks *stacks, uint64_t now_ns);

/* Copies the stack of a thread that is blocked in the wait `w`: fills regs and stack. The copy is valid until
 * the next call. 0; -EAGAIN: the thread is not in this wait now; another value: it cannot be read. */
int outside_stacks_copy(struct outside_stacks *stacks, struct outside_wait *w);

/* Unwinds w->stack, and fills `at` and `stack` of `seen`. 0 or a negative errno value. */
int outside_stacks_read(struct outside_stacks *stacks, const struct outside_wait *w,
                        struct hd_loop_option *option, struct hd_wait_seen *seen);

#endif
