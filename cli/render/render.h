/* SPDX-License-Identifier: MIT
 *
 * A report as text for a user: in short form as a hang ends, and in full.
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
    int width;           /* of the terminal, as render_width has it; 0: nothing is cut or wrapped */
    bool all_frames;     /* also frames of interpreters and libraries */
    bool threads;        /* all threads with their stacks */
    size_t frames_max;   /* of all threads: further stacks are left out; 0: no limit */
    bool dated;          /* the time of the hang with its date */
    bool not_kept;       /* the report's file goes with the run: no command is named that reads it */
    const char *head;    /* before the first line, "hangdog: "; NULL: none */
    const json_t *notes; /* of report_symbolicate; NULL: none */
    const char *file;    /* of the report, for `Run`; NULL: none */
    /* for commands that are named: what this report is called, and the one that it repeats, NULL: by their
     * ids; " --spool DIR", NULL: none */
    const char *called, *repeated, *spool_words;
};

/* True when `out` is a terminal that wants colour (--color, NO_COLOR, CLICOLOR_FORCE, TERM). */
bool render_wants_colour(FILE *out);
/* The columns of a terminal; 0: not a terminal. */
int render_width(FILE *out);

/* A hang in short form: what hung, how long, why, at most 5 own frames, and the command that shows more. Of
 * a session its totals. 0, or -1 with errno when `out` cannot be written. */
int render_hang(FILE *out, const json_t *report, const struct render_options *o);
/* The whole report: the short form, then Stack, Timeline, Threads, Run, Cost. The same result. */
int render_report(FILE *out, const json_t *report, const struct render_options *o);

/* "lookup (lock.c:13)" of the report's own frame. Caller frees; NULL: it has none. */
char *render_own_function(const json_t *report, int width);
/* The cause as a sentence: `waited for a mutex held by thread 9131 "compactor"`. Caller frees; NULL: none. */
char *render_cause(const json_t *report);

/* Of a hang whose end is not on record. */
bool render_is_open(const json_t *report);
/* "at least ", of a hang without its end or, in a watch from outside, its start; else empty. */
const char *render_at_least(const json_t *report);

/* "340 ms", "2.0 s", "3 min 12 s", "1 h 04 min": in `text`, which is returned. */
#define RENDER_DURATION_BYTES 40
const char *render_duration(char text[RENDER_DURATION_BYTES], int64_t ns);
/* "2026-01-31 12:00:00", local time, from a report's RFC 3339 time; another text stays as it is. */
#define RENDER_TIME_BYTES 40
const char *render_time(char text[RENDER_TIME_BYTES], const char *rfc3339);
/* The same without the date: "12:00:00". */
const char *render_clock(char text[RENDER_TIME_BYTES], const char *rfc3339);

/* The end of an id that commands print and take: 6 characters. */
const char *render_short_id(const char *id);

/* The document in a file of libhangdog-trace (docs/trace.md); NULL: `name` is not such a file. Any user may
 * have written the file. The caller calls json_decref. */
json_t *trace_load(const char *name);
/* Prints the functions of such a document, which has names now. 0, or -1 with errno when `out` cannot be
 * written. */
int render_trace(FILE *out, const json_t *trace, const struct render_options *o);

#endif
