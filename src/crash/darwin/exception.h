/* SPDX-License-Identifier: MIT
 *
 * The uncaught exception of C++ or Objective-C that ends the process. Its runtime calls a handler on the
 * thread that has thrown it, before abort(). Ours stores type and text, and calls the handler that was there.
 */
#ifndef HD_CRASH_EXCEPTION_H
#define HD_CRASH_EXCEPTION_H

#include "crash/crash.h"

/* Installs a handler in each runtime that the process has loaded. A stop restores the handlers, except those
 * that the program has replaced since. At start and stop. */
void hd_crash_exceptions_install(void);
void hd_crash_exceptions_remove(void);

/* Copies the exception into *out, if the thread that crashed has met one. Otherwise returns false. On the
 * worker thread. */
bool hd_crash_exception_seen(const struct hd_crash *crash, struct hd_crash_exception *out);

#endif
