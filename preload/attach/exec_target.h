/* SPDX-License-Identifier: MIT
 *
 * Predicts from files whether a program will load the preload after exec. Async-signal-safe; no allocation;
 * leaves no file open.
 */
#ifndef HD_EXEC_TARGET_H
#define HD_EXEC_TARGET_H

#include <stdbool.h>

#define HD_EXEC_NAME_BYTES 256 /* of a library's name */

/* True: `list` names AddressSanitizer's runtime, which ends a program that loads another library first. */
bool hd_exec_needs_asan_first(const char *list);

/* `first`: the library that must precede the preload; empty: none. */
bool hd_exec_target_loads_us(int dir, const char *path, char *const *argv, char first[HD_EXEC_NAME_BYTES]);

#endif
