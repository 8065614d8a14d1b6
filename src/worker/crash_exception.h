/* SPDX-License-Identifier: MIT
 *
 * The uncaught C++ exception behind an abort. Worker: no allocation.
 */
#ifndef HD_WORKER_CRASH_EXCEPTION_H
#define HD_WORKER_CRASH_EXCEPTION_H

#include "crash/crash.h"
#include "image/modules.h"
#include "unwind/unwind.h"

/* Where libstdc++ has said that the program ends: the exception that the thread which crashed handles then.
 * `frames` are that thread's, `count` of them. */
void hd_crash_exception_read(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                             struct hd_crash_exception *out);

#endif
