/* SPDX-License-Identifier: MIT
 *
 * The report that a user means.
 */
#ifndef CLI_REPORT_PICK_H
#define CLI_REPORT_PICK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"

/* `name` is an id, its beginning or its end; a file; or "latest", "latest~1" (the newest that is not of a
 * session, if there is one, and the one before; it prints an error for each newer one that it cannot read).
 * Also the report's file in *path. NULL, and why; *matches says how many ids match, from two on it was for
 * that. The caller calls json_decref for the report, and frees *path, which is NULL without memory. */
json_t *reports_pick(const char *folder, const char *name, char **path, size_t *matches, struct problem *why);

/* The id begins with it, or ends with it: ids begin with their time, so that ends tell neighbours apart. */
bool report_id_matches(const char *id, const char *part);

/* Another report's file in the same folder, where the user has named one by its file. Caller frees. NULL:
 * none. */
char *report_pick_repeated(const char *name, const char *id);

#endif
