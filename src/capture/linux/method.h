/* SPDX-License-Identifier: MIT
 *
 * The methods of this system. To add one, write its function in a new file (method_kernel.c is the shortest),
 * and put its name into the list. Monitor or worker: no allocation, no lock.
 */
#ifndef HD_METHOD_H
#define HD_METHOD_H

#include "capture/target.h"

/* A sample tries the methods in this order. The last one is the last resort.
 *
 * still: the scheduling statistics prove that the thread has not run since the last frozen capture.
 *
 * frozen: the thread is blocked, and the monitor reads its stack in place.
 *
 * signalled: the thread runs, and our handler copies its stack.
 *
 * caught: the thread waits briefly and often; tries frozen again and again for half a millisecond.
 *
 * kernel: the thread's state without a stack. */
#define HD_METHODS(METHOD) METHOD(still) METHOD(frozen) METHOD(signalled) METHOD(caught) METHOD(kernel)

#define HD_METHOD_TAKE(name) int hd_method_##name(struct hd_target *t, struct hd_capture *out);
HD_METHODS(HD_METHOD_TAKE)
#undef HD_METHOD_TAKE

/* An attempt begins: stores the time and the thread's statistics in *out, and clears all else. 0, or why the
 * statistics are not available. */
int hd_method_begin_attempt(struct hd_target *t, struct hd_capture *out);
/* Clears all members of *out but at_ns and sched. */
void hd_method_reset(struct hd_capture *out);
/* An attempt by still and frozen only. */
int hd_method_read_in_place(struct hd_target *t, struct hd_capture *out);

/* Takes the answer that came after hd_method_signalled had returned. -EAGAIN: no answer has come. */
int hd_method_signalled_late(struct hd_target *t, struct hd_capture *out);

#endif
