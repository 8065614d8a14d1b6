/* SPDX-License-Identifier: MIT
 *
 * Symbols for the frames of a report.
 */
#ifndef CLI_SYMBOLICATE_H
#define CLI_SYMBOLICATE_H

#include "symbolizer/symbolizer.h"

#include <jansson.h>
#include <sys/types.h>

/* Adds function, file, line and inlined frames to the frames of the report: those of the hot stack, and the
 * call tree, and all; fewer take less time. What turns out to be one function of code made at run time
 * becomes one in the tree and the hot stack; nothing else changes. `owner` is report_owner's. Reasons why
 * there are no symbols are in `notes` when it is not NULL: an array of texts, json_decref it. */
enum report_part {
    REPORT_HOT,
    REPORT_TREE,
    REPORT_ALL
};
void report_symbolicate(json_t *report, struct symbolizer *s, uid_t owner, enum report_part part,
                        json_t **notes);

#endif
