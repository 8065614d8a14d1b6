/* SPDX-License-Identifier: MIT
 *
 * Darwin's part of the signal handler for crashes: codes and contexts. Async-signal-safe.
 */
#ifndef HD_CRASH_HANDLER_H
#define HD_CRASH_HANDLER_H

#include "os/darwin/mach.h"

/* Returns Linux's number for the code of a signal, since reports have those numbers. 0: a thread or a process
 * sent the signal. Pure. */
int hd_crash_code(int signal, int code);

/* Stores the registers of the code that the signal interrupted. `context` is the handler's third argument. */
void hd_crash_context_registers(const void *context, struct hd_mach_registers *out);

#endif
