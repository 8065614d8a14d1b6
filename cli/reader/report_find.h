/* SPDX-License-Identifier: MIT
 *
 * Finding reports in spool folders.
 */
#ifndef CLI_REPORT_FIND_H
#define CLI_REPORT_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"

#define REPORT_ID_CHARS 36

/* The folder below which each app has its spool: $XDG_STATE_HOME/hangdog, else ~/.local/state/hangdog,
 * without HOME $STATE_DIRECTORY/hangdog or that below the user's home of /etc/passwd. Caller frees. NULL, and
 * why: no home folder is known. */
char *reports_default_folder(struct problem *why);

struct report_file {
    char *path;
    char id[REPORT_ID_CHARS + 1]; /* the file's name */
};

struct report_files {
    struct report_file *file; /* by id, so by time: newest last */
    size_t count;
    char *where; /* the folder that was looked through, for messages */
    bool unread; /* an app's folder could not be read; an error was printed */
};

/* All files of spool `folder` that have a report's name, or with NULL those of every app. NULL
 * also finds the agent's reports of this user's programs, for root those of all programs. A default folder
 * that is missing has no reports; any other one that cannot be read is an error: -1 and why. For an app's
 * folder that cannot be read, prints an error and continues. */
int reports_find(const char *folder, struct report_files *out, struct problem *why);
void reports_free(struct report_files *files);

/* "cannot read F: permission denied (owner root)"; `error` is a negative errno value. */
void report_set_unread(struct problem *why, const char *path, int error);

#endif
