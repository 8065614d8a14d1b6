/* SPDX-License-Identifier: MIT
 *
 * What is left to do when a watched program has ended, whatever ended it. Ordinary code.
 */
#ifndef CLI_AFTERWARDS_H
#define CLI_AFTERWARDS_H

#include "cli/settle/run_result.h"

/* Reports that waited for their loop to be sure are shown when there was a loop, else withdrawn; a hang that
 * the program died in becomes a fatal hang; the session report is written. previous_end: how the run
 * before ended, in the form's words, or NULL. */
void settle_run(const struct run_result *r, const char *previous_end);

/* The same for a dead program that had no runner, in the folder where its record lies: the program may have
 * known that by another path. How it ended is not known: in mid-hang it was fatal, unless its monitor was
 * stopped before. 0, or a negative errno value: the spool does not take it, and what is left to do can be
 * done later. */
int settle_orphan(struct hd_record *table, const char *spool);

#endif
