/* SPDX-License-Identifier: MIT
 *
 * What is left to do when a watched program has ended, however it ended.
 */
#ifndef CLI_SETTLE_H
#define CLI_SETTLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/settle/run_result.h"

#define SETTLE_TEXT_BYTES (256u * 1024)

/* Deferred reports that were dropped, since their loop was not certain at the end. Plain values, for shared
 * memory. */
struct settle_dropped {
    uint32_t count;
    uint64_t longest_ns; /* of the longest */
    size_t bytes;        /* of its report; 0: there was no space */
    char text[SETTLE_TEXT_BYTES];
};

/* Shows or drops deferred reports, makes a fatal hang of one that the program died in, and writes the session
 * report. previous_end: how the run before ended, in the report form's words, or NULL. */
void settle_run(const struct run_result *r, const char *previous_end, struct settle_dropped *dropped);

/* The same for a dead program that had no runner, in the folder where its record lies: the program may have
 * known that by another path. How it ended is not known: in mid-hang it was fatal, unless its monitor was
 * stopped before. 0, or a negative errno value: the spool does not take it, and the rest can be done later.
 */
int settle_orphan(struct hd_record *table, const char *spool);

#endif
