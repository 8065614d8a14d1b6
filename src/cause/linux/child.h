/* SPDX-License-Identifier: MIT
 *
 * Worker: the child that a thread waits for, and whether the process has lent its terminal to that child. No
 * allocation.
 */
#ifndef HD_CHILD_H
#define HD_CHILD_H

#include "cause/probe_context.h"

/* A child of thread tid that was started since `since_ns` (CLOCK_MONOTONIC) and lives; to that one the
 * process may have lent its terminal, if it waits for a child. And one, of whatever age, to which it has
 * given it, as a shell does. Who waits at a pipe waits for the child that has its other end, whatever its
 * age, and else for one that has ended and left that to a child of its own: `daemon &` in Perl's backticks.
 */
void hd_child_find(struct hd_probe_context *ctx, int tid, uint64_t since_ns, struct hd_probe *out);

/* The child that a wait names; `newest` when it waits for any. */
int32_t hd_child_awaited(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                         int32_t newest);

/* The clone that a thread is in waits for its child. All other clones wait for nothing. */
bool hd_child_by_vfork(const struct hd_probe_context *ctx, const struct hd_capture *c);

/* Its program's name, empty where it has gone. */
void hd_child_name(const struct hd_probe_context *ctx, int32_t pid, char name[16]);

#endif
