/* SPDX-License-Identifier: MIT
 *
 * Worker: which thread's end a thread waits for (pthread_join). No allocation.
 *
 * libc waits by a futex on the number in the other thread's descriptor, which the kernel clears when that
 * thread has ended (CLONE_CHILD_CLEARTID). Where in a descriptor the number is, our own thread's tells; and
 * that begins with pointers to itself (tcbhead_t, glibc's sysdeps/x86_64/nptl/tls.h), by which another one is
 * known for what it is. Where none do, nothing is claimed.
 */
#ifndef HD_JOIN_H
#define HD_JOIN_H

#include "cause/probe_context.h"

/* On the calling thread, whose number is `own_tid`. */
void hd_join_init(struct hd_probe_context *ctx, int own_tid);

/* The thread whose end is waited for, 0: for none's, or it is not known. */
int hd_join_target(const struct hd_probe_context *ctx, const struct hd_capture *c);

#endif
