/* SPDX-License-Identifier: MIT
 *
 * Finds the child that a thread waits for, and whether a child uses the terminal. Worker; no allocation.
 */
#ifndef HD_CHILD_H
#define HD_CHILD_H

#include "cause/probe_context.h"

/* Fills out->child: the newest child of thread `tid` that was started since `since_ns` (CLOCK_MONOTONIC) and
 * is alive.
 *
 * At a pipe it is the child that has the other end, of whatever age. Where no child has that end, a child
 * that has ended counts too: `daemon &` in Perl's backticks leaves the end to a grandchild.
 *
 * Sets not_a_hang where a child has the terminal. X */
void hd_child_find(struct hd_probe_context *ctx, int tid, uint64_t since_ns, struct hd_probe *out);

/* The child that the call names; `newest` where the call waits for any. */
int32_t hd_child_awaited(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                         int32_t newest);

/* The call is a clone that returns when the child has memory of its own, or has ended. No other clone waits.
 */
bool hd_child_by_vfork(const struct hd_probe_context *ctx, const struct hd_capture *c);

/* Writes the name of the child's program; empty where the child is gone. */
void hd_child_name(const struct hd_probe_context *ctx, int32_t pid, char name[16]);

#endif
