/* SPDX-License-Identifier: MIT
 *
 * Includes the system's struct hd_signal_request. On Linux the monitor requests a running thread's stack by a
 * signal. Darwin suspends the thread instead, so its structure is empty.
 */
#ifndef HD_CAPTURE_SIGNAL_REQUEST_H
#define HD_CAPTURE_SIGNAL_REQUEST_H

#if defined(__APPLE__) || defined(HD_FAKE_DARWIN)
#include "capture/darwin/signal_request.h"
#else
#include "capture/linux/signal_request.h"
#endif

#endif
