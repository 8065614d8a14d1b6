/* SPDX-License-Identifier: MIT
 *
 * Reports as JSON: finding them, reading them, adding symbols. Ordinary code.
 */
#ifndef CLI_REPORTS_H
#define CLI_REPORTS_H

#include "cli/base/error.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/report_find.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_pick.h"
#include "symbolizer/symbolizer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Adds function, file, line and inlined frames to the frames of the report: those of the hot stack, and the
 * call tree, and all; fewer take less time. What turns out to be one function of code made at run time
 * becomes one in the tree and the hot stack; nothing else changes. `owner` is report_owner's. Reasons why
 * there are no symbols are in `notes` when it is not NULL: an array of texts, json_decref it. */
enum report_part { REPORT_HOT, REPORT_TREE, REPORT_ALL };
void report_symbolicate(json_t *report, struct symbolizer *s, uid_t owner, enum report_part part,
                        json_t **notes);

/* The part of the hang's time for which there is a stack, above 0 to 1: the frames' shares are of all of it.
 * Less than STACK_TIME_ALL is told. */
#define STACK_TIME_ALL 0.95
struct stack_time {
    double known;
    bool is_exact;  /* else the report has no samples: the rest may be in stacks that begin elsewhere, too */
    bool no_answer; /* the rest is for the most of a thread that ran */
};
struct stack_time report_stack_time(const json_t *report);

#endif
