/* SPDX-License-Identifier: MIT
 *
 * Finds the child process that a thread waits for, and finds out whether a child uses the terminal. Runs on
 * the worker thread; allocates nothing.
 */
#ifndef HD_CHILD_H
#define HD_CHILD_H

#include "cause/probe_context.h"

/* Fills out->child with the child that thread `tid` may wait for. Uses the system call and the descriptor
 * that the caller has stored in *out. The child is the newest living one that was started after `since_ns`
 * (CLOCK_MONOTONIC).
 *
 * If the thread is blocked on a pipe, a child that has the pipe's other end comes first, whatever the child's
 * age. If no child has the other end, the function takes the newest child that was started after `since_ns`,
 * even one that has ended. For example, with `daemon &` in Perl's backticks, only a grandchild has the other
 * end.
 *
 * Sets out->not_a_hang if a child uses the terminal, because the user works with that child. */
void hd_child_find(struct hd_probe_context *ctx, int tid, uint64_t since_ns, struct hd_probe *out);

/* Returns the process id of the child that the system call in capture `c` waits for; `newest` if the call's
 * arguments name no single child. */
int32_t hd_child_awaited(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                         int32_t newest);

/* True: the system call in capture `c` is a clone with CLONE_VFORK. Such a clone returns once the child has
 * called exec or has ended; other clones do not wait for the child. */
bool hd_child_by_vfork(const struct hd_probe_context *ctx, const struct hd_capture *c);

/* Writes the name of the child's main thread (comm). If the child is gone, the name is empty. */
void hd_child_name(const struct hd_probe_context *ctx, int32_t pid, char name[16]);

#endif
