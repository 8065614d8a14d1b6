/* SPDX-License-Identifier: MIT
 *
 * Finds the thread that a pthread_join waits for. On the worker thread; no allocation.
 *
 * libc keeps a thread descriptor for each thread (struct pthread), which has the thread's id. In
 * pthread_join, a thread waits in a futex on that id. The kernel clears the id when the thread ends
 * (CLONE_CHILD_CLEARTID). The calling thread finds the offset of the id in its own descriptor.
 *
 * In glibc, the descriptor starts with pointers to itself (tcbhead_t, sysdeps/x86_64/nptl/tls.h). Such
 * pointers before a futex prove that the futex is the id in a descriptor. If another libc has no such
 * pointers, no thread is found.
 */
#ifndef HD_JOIN_H
#define HD_JOIN_H

#include "cause/probe_context.h"

/* Finds the offsets in the descriptor of the calling thread, and stores them in *ctx. `own_tid`: the id of
 * the calling thread. */
void hd_join_init(struct hd_probe_context *ctx, int own_tid);

/* Returns the id of the thread that the call in `c` waits for; 0: none, or unknown. */
int hd_join_target(const struct hd_probe_context *ctx, const struct hd_capture *c);

#endif
