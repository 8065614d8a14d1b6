/* SPDX-License-Identifier: MIT
 *
 * Reads a JSON text in place, just enough for reports: members by name, items of an array, numbers and plain
 * strings. A text that is not whole gives NULL.
 */
#ifndef BENCH_JSON_H
#define BENCH_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of member `key` of the object at `at`, NULL: not there. */
const char *bench_json_member(const char *at, const char *key);

/* The first item of the array at `at`, and the one after an item; NULL: no more. */
const char *bench_json_first(const char *at);
const char *bench_json_next(const char *item);

/* Of a value that may be NULL. A number, also one in a string as 0x…; else `otherwise`. */
uint64_t bench_json_u64(const char *value, uint64_t otherwise);
bool bench_json_is(const char *value, const char *text);
/* A string's text without escapes resolved, cut to fit; empty when it is none. */
void bench_json_text(const char *value, char *out, size_t size);

#endif
