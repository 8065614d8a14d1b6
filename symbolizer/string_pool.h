/* SPDX-License-Identifier: MIT
 *
 * Strings that live as long as the symbolizer, each kept once.
 */
#ifndef SYMBOLIZER_STRING_POOL_H
#define SYMBOLIZER_STRING_POOL_H

#include <stddef.h>

struct strings {
    char **slot; /* by hash */
    size_t slots, used;
};

/* The kept copy of s; NULL when s is NULL or there is no memory. */
const char *strings_keep(struct strings *set, const char *s);
void strings_free(struct strings *set);

#endif
