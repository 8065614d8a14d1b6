/* SPDX-License-Identifier: MIT
 *
 * The formats by their names. Each has a file of its own. Ordinary code.
 */
#ifndef CLI_EXPORT_FORMATS_H
#define CLI_EXPORT_FORMATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define EXPORT_FORMATS "text|collapsed|speedscope|firefox|pprof|sentry|otlp|prometheus"

struct export_format {
    const char *name;
    /* Writes an array of reports. 0, or -1 with errno: no memory, or `out` cannot be written. */
    int (*write)(FILE *out, const json_t *reports);
    bool binary;
    const char *suffix, *type; /* of a file, and of an answer over HTTP */
};

/* NULL is text. */
const struct export_format *export_format_of(const char *name);

#endif
