/* SPDX-License-Identifier: MIT
 *
 * A frame's name as grouping compares it: the same for builds by other compilers, options and versions. Pure.
 */
#ifndef COLLECTOR_REPORT_FRAME_NAME_H
#define COLLECTOR_REPORT_FRAME_NAME_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FRAME_NAME_BYTES 256

/* "ns::f" of "ns::f<int>(char const*) [clone .cold]": without parameters, template arguments, numbers of
 * lambdas, unnamed namespaces, what a compiler adds, and Rust's hash. A script's function is left as it is.
 * Without a name it is "module+start", where start is the function's; without that "module+?". In `out`,
 * which is returned. */
const char *frame_name(const json_t *report, const json_t *frame, char out[FRAME_NAME_BYTES]);

/* The name as a page shows it, in place: "A::operator()", where the compared name ends with "operator". */
void frame_name_show(char name[FRAME_NAME_BYTES]);

/* Of the standard library by its name, as frame_name gives it: it calls what the app gave it. */
bool frame_name_is_glue(const char *name);
/* The name, as frame_name gives it, is that of a function without a name: "(anonymous)", "<lambda>",
 * "operator".
 */
bool frame_name_is_anonymous(const char *name);
/* "f::{lambda}::operator" of a function of the standard library that calls f's lambda, as its template
 * arguments say; a compiler inlines the lambda into it. False: they say none. */
bool frame_name_of_lambda(const json_t *frame, char out[FRAME_NAME_BYTES]);
/* "get" and "Cache::get" may be one function: debug information may lack what a function is in. */
bool frame_name_equal(const char *a, const char *b);

/* Replaces control characters, and bytes that are no part of a whole UTF-8 character, by question marks. A
 * truncated text may end within a character. */
void frame_name_mend(char *text);

/* Adds the pool of a stall to a place: "pool.c:22, pool archive". */
void frame_name_add_pool(char *place, size_t size, const json_t *report);

#endif
