/* SPDX-License-Identifier: MIT
 *
 * The signal handler for crashes, and the actions that it replaces. Async-signal-safe.
 */
#ifndef HD_CRASH_HANDLER_H
#define HD_CRASH_HANDLER_H

/* Returns the action that the signal had before our handler was installed. NULL: the signal does not count as
 * a crash. */
struct hd_kernel_action *hd_crash_before(int signal);
void hd_crash_on_signal(int signal, void *info, void *context);

#endif
