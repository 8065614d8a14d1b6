/* SPDX-License-Identifier: MIT
 *
 * The file of `hangdog run --json=FILE`: a report a line, in addition to the text on stderr.
 */
#ifndef CLI_JSON_FILE_H
#define CLI_JSON_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/base/error.h"
#include "cli/reporter/printer_state.h"

/* In the runner, before the program starts. `path`: NULL or empty, none. Close-on-exec. False: `why` says why
 * the file cannot be opened. */
bool json_file_open(const char *path, int *fd, struct problem *why);

/* `word` is no program. After --json without a file it may be the file: adds the command that says so.
 * `json`: the value of the option, or NULL. */
void json_file_suggest(struct problem *why, const char *json, const char *verb, const char *word);

/* After an error it only counts: a line behind a torn one would be lost with it. */
void json_file_add(struct printer *r, const json_t *report);

void json_file_print_missing(const struct printer *r);

#endif
