/* SPDX-License-Identifier: MIT
 *
 * Symbols for the frames of a report.
 */
#ifndef CLI_SYMBOLICATE_H
#define CLI_SYMBOLICATE_H

#include "symbolizer/symbolizer.h"

#include <jansson.h>
#include <sys/types.h>

/* Adds function, file, line and inlined frames to frames of the report. `part`: frames of the hot stack, also
 * of the call tree, or all; fewer take less time. Merges JIT functions in the tree and the hot stack.
 * `owner`: from report_owner. *notes, unless NULL: an array of texts with reasons for missing symbols, for
 * which the caller calls json_decref. */
enum report_part {
    REPORT_HOT,
    REPORT_TREE,
    REPORT_ALL
};
void report_symbolicate(json_t *report, struct symbolizer *s, uid_t owner, enum report_part part,
                        json_t **notes);

#endif
