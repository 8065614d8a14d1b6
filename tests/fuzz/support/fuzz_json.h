/* SPDX-License-Identifier: MIT
 *
 * JSON for fuzzers: small inputs that stand for large texts, and changes that keep an input JSON.
 *
 * In a list, ["*", N, X] stands for N copies of X, in whose texts "#" is the copy's number, and numbers of
 * the form 1e6 + K are the copy's number + K. A text "*N,TEXT" is N times TEXT.
 */
#ifndef FUZZ_JSON_H
#define FUZZ_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* What the input stands for; the caller calls json_decref. NULL: it is no JSON, or more than `values` values
 * or `bytes` bytes. */
json_t *fuzz_json_expand(const uint8_t *data, size_t size, size_t values, size_t bytes);

/* The input with one member or item changed, copied, removed or multiplied; its new size. */
size_t fuzz_json_change(uint8_t *data, size_t size, size_t max, unsigned seed);
/* The first input with a part of the second one; the size of `out`. */
size_t fuzz_json_cross(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size, uint8_t *out,
                       size_t max, unsigned seed);

#endif
