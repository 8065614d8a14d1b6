/* SPDX-License-Identifier: MIT
 *
 * The last lines of a run: how the program was watched, what was lost, and what was not watched.
 */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "cli/reporter/reporter.h"

/* `skipped`: reports that --on-hang did not get. */
void summary_print(const struct reporter *r, unsigned long skipped);

#endif
