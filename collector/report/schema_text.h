/* SPDX-License-Identifier: MIT
 *
 * The two forms of texts that the report's schema asks for. Pure.
 */
#ifndef COLLECTOR_REPORT_SCHEMA_TEXT_H
#define COLLECTOR_REPORT_SCHEMA_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The one pattern of the schema: "^0x[0-9a-f]+$". */
bool schema_text_is_address(const char *text, size_t bytes);

/* A time of RFC 3339 in UTC, such as "2026-01-31T12:00:00.123Z"; the number of decimals is free. */
bool schema_text_is_moment(const char *text, size_t bytes);

#endif
