/* SPDX-License-Identifier: MIT
 *
 * Whether a program that is to be executed will load us. Async-signal-safe.
 */
#ifndef HD_EXEC_TARGET_H
#define HD_EXEC_TARGET_H

#include <stdbool.h>

#define HD_EXEC_NAME_BYTES 256 /* of a library */

/* A runtime of AddressSanitizer's is in a list, by the names that it looks for itself: it ends a program
 * whose first library is another. */
bool hd_exec_needs_asan_first(const char *list);

/* `first`: the name of what must come before us then; empty: nothing. */
bool hd_exec_target_loads_us(int dir, const char *path, char *const *argv, char first[HD_EXEC_NAME_BYTES]);

#endif
