/* SPDX-License-Identifier: MIT
 *
 * The file of libhangdog-trace (docs/trace.md). Files come from anywhere.
 */
#ifndef CLI_TRACE_LOAD_H
#define CLI_TRACE_LOAD_H

#include <jansson.h>

/* The document, where `name` is such a file; NULL where it is anything else. The caller calls json_decref. */
json_t *trace_load(const char *name);

#endif
