/* SPDX-License-Identifier: MIT
 *
 * Cells of a row of `list` and `stats`.
 */
#ifndef CLI_ROW_VALUES_H
#define CLI_ROW_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define ROW_BYTES 40

/* "22:52:41"; of another day "23 Nov 22:52", of another year "23 Nov 2025"; whole: "2026-11-23 22:52:41". */
const char *row_when(char text[ROW_BYTES], const char *rfc3339, bool whole);
/* "update_row (dead.c:13)", or the place in the module. The caller frees; NULL: no memory. */
char *row_function(const json_t *summary);
/* How long a time was, roughly: "22 min", "3 h 05 min". */
const char *row_span(char text[ROW_BYTES], int64_t ns);

/* How many reports of the CPU monitor there are, which no time is lost by; nothing where there is none. */
void row_print_cpu_reports(FILE *out, const json_t *summaries);

#endif
