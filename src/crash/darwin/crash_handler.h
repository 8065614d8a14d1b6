/* SPDX-License-Identifier: MIT
 *
 * The signal handler for crashes, and the actions that it replaces. Async-signal-safe.
 */
#ifndef HD_CRASH_HANDLER_H
#define HD_CRASH_HANDLER_H

#include "os/darwin/mach.h"

/* Installs the handler for each signal of a crash, whatever action the program has. hd_crash_handlers_remove
 * restores the action of each signal that still has our handler. */
void hd_crash_handlers_install(void);
void hd_crash_handlers_remove(void);

/* Returns Linux's number for the code of a signal, since reports have those numbers. 0: a thread or a process
 * sent the signal. Pure. */
int hd_crash_code(int signal, int code);

/* Stores the registers of the code that the signal interrupted. `context` is the handler's third argument. */
void hd_crash_context_registers(const void *context, struct hd_mach_registers *out);

#endif
