/* SPDX-License-Identifier: MIT
 *
 * Includes the system's list of capture methods, HD_METHODS.
 */
#ifndef HD_CAPTURE_METHODS_H
#define HD_CAPTURE_METHODS_H

#if defined(__APPLE__) || defined(HD_FAKE_DARWIN)
#include "capture/darwin/method.h"
#else
#include "capture/linux/method.h"
#endif

#endif
