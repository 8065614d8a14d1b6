/* SPDX-License-Identifier: MIT
 *
 * The uncaught C++ exception behind an abort. On the worker thread.
 */
#ifndef HD_WORKER_CRASH_EXCEPTION_H
#define HD_WORKER_CRASH_EXCEPTION_H

#include "crash/crash.h"
#include "image/modules.h"
#include "unwind/unwind.h"

/* Reads the exception that the crashed thread handles, if libstdc++ ended the program for it. `frames`: the
 * thread's stack, innermost first. Without such an exception *out stays as it is. */
void hd_crash_exception_read(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                             struct hd_crash_exception *out);

#endif
