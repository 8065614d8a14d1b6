/* SPDX-License-Identifier: MIT
 *
 * Files of the tree that are part of the program: those of the page, and the report's schema.
 */
#ifndef COLLECTOR_BUILT_IN_H
#define COLLECTOR_BUILT_IN_H

#include <jansson.h>
#include <stddef.h>

struct built_in {
    const char *name, *type; /* "index.html", "text/html; charset=utf-8" */
    const unsigned char *data;
    size_t bytes;
};

/* NULL: there is none of this name. */
const struct built_in *built_in_find(const char *name);

/* The report's schema. NULL: out of memory. The caller calls json_decref. */
json_t *built_in_schema(void);

/* Written by cmake/BuiltIn.cmake; the last one has no name. */
extern const struct built_in built_in_files[];

#endif
