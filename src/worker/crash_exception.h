/* SPDX-License-Identifier: MIT
 *
 * Reads the uncaught C++ exception for which a program aborts. On the worker thread.
 */
#ifndef HD_WORKER_CRASH_EXCEPTION_H
#define HD_WORKER_CRASH_EXCEPTION_H

#include "crash/crash.h"
#include "image/modules.h"
#include "unwind/unwind.h"

/* Reads the type and the text of the exception into *out, if libstdc++ ended the program for an uncaught
 * exception. Otherwise leaves *out as it is. `frames`: the crashed thread's stack, innermost frame first. */
void hd_crash_exception_read(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                             struct hd_crash_exception *out);

#endif
