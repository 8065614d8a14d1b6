/* SPDX-License-Identifier: MIT
 *
 * Whether a program that is to be executed will load us. Async-signal-safe.
 */
#ifndef HD_NEXT_PROGRAM_H
#define HD_NEXT_PROGRAM_H

#include <stdbool.h>

#define HD_NEXT_NAME_BYTES 256 /* of a library */

/* A runtime of AddressSanitizer's is in a list, by the names that it looks for itself: it ends a program
 * whose first library is another. */
bool hd_next_comes_first(const char *list);

/* `first`: the name of what must come before us then; empty: nothing. */
bool hd_next_loads_us(int dir, const char *path, char *const *argv, char first[HD_NEXT_NAME_BYTES]);

#endif
