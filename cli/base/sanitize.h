/* SPDX-License-Identifier: MIT
 *
 * Texts that come from anywhere, for a terminal: no character of them is one that it obeys. Ordinary code.
 */
#ifndef CLI_SANITIZE_H
#define CLI_SANITIZE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* All of it is UTF-8 without control characters: what a terminal shows is what it is. */
bool sanitize_is_plain(const char *text);
/* Each control character becomes a question mark. */
void sanitize_text(char *text);
/* The same, written; NULL is an empty text. */
void sanitize_print(FILE *out, const char *text);

/* The form that agrees with a number: cli_plural(n, "", "s"), cli_plural(n, "was", "were"). */
const char *cli_plural(int64_t count, const char *one, const char *other);

/* A JSON text and a new line, in which control characters are escaped, and only they; numbers are as they
 * were read. 0, or -1 when `out` cannot be written. */
int sanitize_print_json(FILE *out, const json_t *json, size_t flags);
/* The same text without the new line, for the caller to free; NULL: no memory. */
char *sanitize_json_text(const json_t *json, size_t flags);

#endif
