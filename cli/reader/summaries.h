/* SPDX-License-Identifier: MIT
 *
 * The reports of a spool, a small object each: what `list` and `stats` need of them.
 */
#ifndef CLI_SUMMARIES_H
#define CLI_SUMMARIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "cli/base/options.h"
#include "cli/reader/report_origin.h"

/* Options of `list` and `stats`; a member that is NULL lets every report pass. */
struct summary_options {
    const char *spool;
    const char *app, *cause, *kind;
    struct report_origin origin;
    const char *since;   /* as the user typed it */
    const char *id;      /* a beginning or an end of it */
    bool sessions;       /* with those of kind session; else only by `kind` */
    const char *symbols; /* of --symbols */
    bool no_symbols, verbose;
};

struct summaries {
    /* By time, the newest last. Members: id, file, kind, started_at, duration_ns, cause, app, pid,
     * fingerprint, session, version, brief, and those of report_origin_add. A session also has `suppressed`.
     * The function summaries_name adds function, place, own {function,file,line}. */
    json_t *rows;
    json_t *apps;  /* names of the apps that have reports, as keys */
    size_t count;  /* reports in the spool, whatever the filter */
    size_t failed; /* files that are no report: an error is printed for them, and the answer is right */
    char **id;     /* of all reports, `count` of them */
    time_t from;   /* of --since; 0: not given. It lets all sessions pass: they may end later */
    bool unread;   /* a folder or a file could not be read */
    json_t *ends;  /* how many ids have these 6 characters at an end */
    char *where;   /* the folder */
    struct symbolizer *symbolizer;
    json_t *named; /* names of one report, by fingerprint, for other reports with the same one */
};

/* 0, or the exit status after an error. The caller frees in both cases. */
int summaries_read(const struct command *c, const struct summary_options *o, struct summaries *out);
/* Adds a row's function: reads the report's stacks. */
void summaries_name(struct summaries *s, json_t *row);
/* All rows, with functions if `named`. A row may get the lines of a newer report of the same program and
 * fingerprint, which is faster. Borrowed. */
const json_t *summaries_rows(struct summaries *s, bool named);
/* The exit status of an answer: not each file that should count does. */
bool summaries_lack_reports(const struct summaries *s);
void summaries_free(struct summaries *s);

/* How many last characters of this id no other report's id ends or starts with; at least 6. */
size_t summaries_id_end(const struct summaries *s, const char *id);

/* Prints that nothing passed the filter, and why that may be. */
void summaries_say_none(const struct summaries *s, const struct summary_options *o);

#endif
