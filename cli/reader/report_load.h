/* SPDX-License-Identifier: MIT
 *
 * Reads one report file, which is hostile input.
 */
#ifndef CLI_REPORT_LOAD_H
#define CLI_REPORT_LOAD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/base/error.h"

/* Reads a report and checks that it is one and of a version that is understood. NULL, and why; with errno at
 * 0 before, it is ENOMEM where there was no memory. */
json_t *report_load(const char *path, struct problem *why);
/* The same without the stacks, which are most of it: of a file that ends as a report does, the members before
 * them. Where that is no report, the whole file is read. */
json_t *report_load_head(const char *path, struct problem *why);
/* After a failed load: another process has removed the file, for example because of the spool's limits. */
bool report_is_gone(const char *path);

/* The owner of the report in this file; the caller if not known. */
uid_t report_owner(const char *path);

/* A text member; empty where there is none. */
const char *report_text(const json_t *object, const char *key);

#endif
