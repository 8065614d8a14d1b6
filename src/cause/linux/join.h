/* SPDX-License-Identifier: MIT
 *
 * Finds the thread whose end a pthread_join waits for. Runs on the worker thread; allocates nothing.
 *
 * For each thread, libc keeps a thread descriptor (struct pthread) with the thread's id. A pthread_join waits
 * in a futex call until the other thread's id changes. The kernel clears the id when the thread ends
 * (CLONE_CHILD_CLEARTID). The id has the same offset in all descriptors. So hd_join_init can find the offset
 * in the calling thread's descriptor.
 *
 * In glibc, the descriptor has pointers into itself: at its start (tcbhead_t, sysdeps/x86_64/nptl/tls.h), or
 * on arm64 in its list of robust mutexes. If a futex has such a pointer at the right distance, the futex is
 * the id in a descriptor. Another libc may have none; with that libc, hd_join_target finds no thread.
 */
#ifndef HD_JOIN_H
#define HD_JOIN_H

#include "cause/probe_context.h"

/* Searches the calling thread's descriptor for the thread's id and for the descriptor's first pointer into
 * itself. Stores their offsets in *ctx. `own_tid`: the id of the calling thread. */
void hd_join_init(struct hd_probe_context *ctx, int own_tid);

/* Returns the id of the thread whose end the futex call in capture `c` waits for; 0: none, or unknown. */
int hd_join_target(const struct hd_probe_context *ctx, const struct hd_capture *c);

#endif
