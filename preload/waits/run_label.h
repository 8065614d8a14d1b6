/* SPDX-License-Identifier: MIT
 *
 * The label of a loop, for a program that runs under `hangdog run` and does not link the library. A script
 * finds the function by its name, such as ctypes.CDLL(None).hangdog_run_label.
 */
#ifndef HD_RUN_LABEL_H
#define HD_RUN_LABEL_H

/* Like hangdog_label(), for the loop of the calling thread. A thread that is not watched has no label, and
 * the call does nothing. */
void hangdog_run_label(const char *text, const char *traceparent);

#endif
