/* SPDX-License-Identifier: MIT
 *
 * The capture methods on Darwin. On the monitor or worker thread: no allocation, no lock.
 */
#ifndef HD_DARWIN_METHOD_H
#define HD_DARWIN_METHOD_H

#include "capture/method.h"

/* A sample tries the methods in this order.
 *
 * suspended: if the thread has waited since the last capture, its stack is unchanged. Otherwise the monitor
 * suspends the thread, copies registers and stack, and resumes the thread.
 *
 * kernel: the monitor reads only the thread's state, and there is no stack. */
#define HD_METHODS(METHOD) METHOD(suspended) METHOD(kernel)

#define HD_METHOD_TAKE(name) int hd_method_##name(struct hd_target *t, struct hd_capture *out);
HD_METHODS(HD_METHOD_TAKE)
#undef HD_METHOD_TAKE

#endif
