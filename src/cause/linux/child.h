/* SPDX-License-Identifier: MIT
 *
 * Finds the child process that a thread waits for, and finds out whether a child uses the terminal. On the
 * worker thread; no allocation.
 */
#ifndef HD_CHILD_H
#define HD_CHILD_H

#include "cause/probe_context.h"

/* Fills out->child with the child that thread `tid` may wait for. Uses the call and the descriptor that *out
 * has. The child is the newest living one that was started after `since_ns` (CLOCK_MONOTONIC).
 *
 * If the thread waits at a pipe, the child at the pipe's other end counts first, whatever its age. If no
 * child has that end, the newest child counts, even one that has ended. With `daemon &` in Perl's backticks,
 * for example, only a grandchild has that end.
 *
 * Sets out->not_a_hang if a child uses the terminal: the user then works with the child. */
void hd_child_find(struct hd_probe_context *ctx, int tid, uint64_t since_ns, struct hd_probe *out);

/* Returns the process id of the child that the call in `c` names, or `newest` if the call waits for any
 * child. */
int32_t hd_child_awaited(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                         int32_t newest);

/* True: the call in `c` is a clone with CLONE_VFORK. Such a clone returns once the child has called exec or
 * has ended; other clones do not wait for the child. */
bool hd_child_by_vfork(const struct hd_probe_context *ctx, const struct hd_capture *c);

/* Writes the name of the child's main thread (comm); empty if the child is gone. */
void hd_child_name(const struct hd_probe_context *ctx, int32_t pid, char name[16]);

#endif
