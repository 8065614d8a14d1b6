/* SPDX-License-Identifier: MIT
 *
 * One report as text for a person. Ordinary code.
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include "cli/base/sanitize.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct render_options {
    bool colour;
    bool brief;          /* no more than what hung, where and why */
    bool threads;        /* each thread with its stack, too */
    bool not_kept;       /* the report's file goes with the run: no command is named that reads it */
    const json_t *notes; /* of report_symbolicate; NULL: none */
    unsigned max_frames; /* of each stack; 0: all */
    /* for commands that are named: what this report is called, and the one that it repeats, NULL: by their
     * ids; " --spool DIR", NULL: none */
    const char *called, *repeated, *spool_words;
};

/* True when `out` is a terminal that wants colour (NO_COLOR, TERM). */
bool render_wants_colour(FILE *out);

/* Writes the report. 0, or -1 with errno when `out` cannot be written. */
int render_report(FILE *out, const json_t *report, const struct render_options *o);

/* Of a hang whose end nobody wrote. */
bool render_is_open(const json_t *report);

/* "2.003 s", "350 ms": in `text`, which is returned. */
#define RENDER_DURATION_BYTES 40
const char *render_duration(char text[RENDER_DURATION_BYTES], int64_t ns);
/* "2026-01-31 12:00:00", local time, of a report's RFC 3339 time; the text as it is when it is none. */
#define RENDER_TIME_BYTES 40
const char *render_time(char text[RENDER_TIME_BYTES], const char *rfc3339);

#endif
