/* SPDX-License-Identifier: MIT
 *
 * Reports as JSON: finding them, reading them, adding symbols. Ordinary code.
 */
#ifndef CLI_REPORTS_H
#define CLI_REPORTS_H

#include "cli/base/error.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/own_frame.h"
#include "symbolizer/symbolizer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The folder below which each app has its spool: $XDG_STATE_HOME/hangdog, else ~/.local/state/hangdog,
 * without HOME $STATE_DIRECTORY/hangdog or that below the user's home of /etc/passwd. Caller frees. NULL, and
 * why: no home folder is known. */
char *reports_default_folder(struct problem *why);

struct report_file {
    char *path;
    char id[37]; /* the file's name */
};

struct report_files {
    struct report_file *file; /* by id, so by time: newest last */
    size_t count;
    char *where; /* the folder that was looked through, for messages */
    bool unread; /* an app's folder could not be read, which was told */
};

/* All files of spool `folder` that have a report's name, or with NULL those of every app. A default folder
 * that is missing has no reports; any other one that cannot be read is an error: -1 and why. An app's that
 * cannot be read is told, and the others' are found. */
int reports_find(const char *folder, struct report_files *out, struct problem *why);
void reports_free(struct report_files *files);

/* The report that a person means by `name`: an id or the beginning of one, a file, or "latest" (the newest
 * that is not of a session, if there is one; newer ones that cannot be read are told), and its file. NULL,
 * and why. The caller calls json_decref for the report, and frees *path, which is NULL without memory. */
json_t *reports_pick(const char *folder, const char *name, char **path, struct problem *why);

/* Another report's file in the same folder, where a person has named one by its file. Caller frees. NULL:
 * none. */
char *reports_beside(const char *name, const char *id);

/* Reads a report and checks that it is one and of a version that is understood. NULL, and why; with errno at
 * 0 before, it is ENOMEM where there was no memory. */
json_t *report_load(const char *path, struct problem *why);
/* After that: another program has removed it meanwhile, for the spool's limits say. */
bool report_is_gone(const char *path);

/* Whose the report in this file is; it is the caller's where that cannot be told. */
uid_t report_owner(const char *path);

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
