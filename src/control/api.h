/* SPDX-License-Identifier: MIT
 *
 * The start of Hangdog for a program that links libhangdog-waits.a.
 */
#ifndef HD_CONTROL_API_H
#define HD_CONTROL_API_H

#include "watch/run.h"

/* hangdog_start(), with a recogniser that finds the loop of the main thread. Reports are deferred until that
 * loop is certain. *out: the run. Any thread. */
int hd_api_start(const hangdog_options *options, const struct hd_recogniser *recogniser, struct hd_run **out);

#endif
