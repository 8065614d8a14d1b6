/* SPDX-License-Identifier: MIT
 *
 * Finds the thread that a thread waits for in pthread_join. Worker; no allocation.
 *
 * libc waits in a futex on the id in the other thread's descriptor; the kernel clears the id when that thread
 * has ended (CLONE_CHILD_CLEARTID). Our own thread's descriptor shows the id's offset. A descriptor starts
 * with pointers to itself (tcbhead_t, glibc's sysdeps/x86_64/nptl/tls.h), and these prove that the futex is
 * in one. A libc without such pointers gives no evidence.
 */
#ifndef HD_JOIN_H
#define HD_JOIN_H

#include "cause/probe_context.h"

/* Reads the descriptor of the calling thread, whose id is `own_tid`. */
void hd_join_init(struct hd_probe_context *ctx, int own_tid);

/* The thread that the call waits for; 0: none, or unknown. */
int hd_join_target(const struct hd_probe_context *ctx, const struct hd_capture *c);

#endif
