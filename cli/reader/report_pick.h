/* SPDX-License-Identifier: MIT
 *
 * Finds the report that the user names.
 */
#ifndef CLI_REPORT_PICK_H
#define CLI_REPORT_PICK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"

/* `name`: an id, the start or the end of an id, a file, "latest" or "latest~1". "latest" is the newest report
 * that is not of a session, if any; "latest~1" the one before. Prints an error for each newer report that
 * cannot be read. *path: the report's file. NULL, and why. *matches: the number of matching ids; two or more
 * are an error. The caller calls json_decref for the report, and frees *path, which is NULL without memory.
 */
json_t *reports_pick(const char *folder, const char *name, char **path, size_t *matches, struct problem *why);

/* True: the id starts or ends with `part`. Ids start with a time, so only their ends differ between
 * neighbours. */
bool report_id_matches(const char *id, const char *part);

/* Another report's file in the same folder, where the user has named one by its file. Caller frees. NULL:
 * none. */
char *report_pick_repeated(const char *name, const char *id);

#endif
