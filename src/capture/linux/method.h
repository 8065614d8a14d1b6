/* SPDX-License-Identifier: MIT
 *
 * The capture methods on Linux. To add one, write its function in a new file (method_kernel.c is the
 * shortest), and add its name to HD_METHODS. On the monitor or worker thread: no allocation, no lock.
 */
#ifndef HD_LINUX_METHOD_H
#define HD_LINUX_METHOD_H

#include "capture/method.h"

/* A sample tries the methods in this order, and the last one once all others have failed.
 *
 * still: the scheduling statistics prove that the thread has not run since the last frozen capture. So its
 * stack is unchanged.
 *
 * frozen: the thread is blocked, so the monitor reads its stack in place.
 *
 * signalled: the thread runs, so our signal handler copies its stack.
 *
 * caught: the thread blocks briefly and often. The monitor repeats still and frozen for half a millisecond.
 *
 * kernel: the monitor reads only the thread's state from /proc, and there is no stack. */
#define HD_METHODS(METHOD) METHOD(still) METHOD(frozen) METHOD(signalled) METHOD(caught) METHOD(kernel)

#define HD_METHOD_TAKE(name) int hd_method_##name(struct hd_target *t, struct hd_capture *out);
HD_METHODS(HD_METHOD_TAKE)
#undef HD_METHOD_TAKE

#endif
