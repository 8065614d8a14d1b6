/* SPDX-License-Identifier: MIT
 *
 * The lines that the reporter prints for one report.
 */
#ifndef CLI_REPORT_LINES_H
#define CLI_REPORT_LINES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/reporter/printer_state.h"

/* Adds symbols to the report, where the reporter looks them up, and stores them in its file (NULL: it has
 * none). Ends the process where there is no memory for it. Its notes: json_decref. */
json_t *report_lines_name(struct printer *r, json_t *report, const char *path);

/* "lookup (lock.c:13)" of its own function; free(). NULL: no memory. */
char *report_lines_function(const json_t *report);

/* Each function returns text that the caller frees; NULL: no memory. `row`: for a repeat, which gets a short
 * line; else NULL. */
char *report_lines_ended(struct printer *r, const json_t *report, const json_t *notes,
                         const struct hang_row *row, size_t *bytes);
/* Of a hang that has lasted for age_ns. */
char *report_lines_lasts(const struct printer *r, const json_t *report, uint64_t age_ns, size_t *bytes);

#endif
