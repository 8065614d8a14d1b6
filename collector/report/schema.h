/* SPDX-License-Identifier: MIT
 *
 * Whether a report is what docs/report.schema.json says, and where it is not. The schema itself is built in,
 * so the two cannot differ. Pure.
 */
#ifndef COLLECTOR_REPORT_SCHEMA_H
#define COLLECTOR_REPORT_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Where a value is wrong, as a JSON pointer, and why. */
struct schema_fault {
    char at[256];
    char reason[256];
    long retry_s; /* where it may pass: seconds until then. Only row_make sets it; a caller that reads it
                     starts with 0 */
};

/* Limits beyond the schema, for what it would cost to take a report in. */
#define SCHEMA_DEPTH_MAX 64
#define SCHEMA_VALUES_MAX 400000
#define SCHEMA_ITEMS_MAX 20000
#define SCHEMA_TEXT_MAX 16384
/* Of a text that fast_parse.h does not take, and that costs more: json_loadb. */
#define SCHEMA_SLOW_BYTES_MAX ((size_t)2 << 20)
#define SCHEMA_SLOW_VALUES_MAX 100000

/* The text is too large for json_loadb, nests too deep, or has too many values: parsing it would cost too
 * much. */
bool schema_is_too_much(const char *text, size_t bytes, struct schema_fault *fault);

/* The rules of JSON Schema that the report's schema uses. An unknown rule in `schema` fails, too. */
bool schema_fits(const json_t *schema, const json_t *value, struct schema_fault *fault);

#endif
