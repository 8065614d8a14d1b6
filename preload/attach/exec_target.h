/* SPDX-License-Identifier: MIT
 *
 * Predicts whether a program will load the preload after exec, by reading the program's files. These
 * functions are async-signal-safe, do not allocate, and leave no file open.
 */
#ifndef HD_EXEC_TARGET_H
#define HD_EXEC_TARGET_H

#include <stdbool.h>

#define HD_EXEC_NAME_BYTES 256 /* the size of a library's name, with the NUL */

/* True: the list of libraries `list` names AddressSanitizer's runtime. This runtime ends a program that has
 * loaded another library before it. */
bool hd_exec_needs_asan_first(const char *list);

/* True: the program loads the preload after exec. `path` is relative to the folder `dir`. `first` gets the
 * name of a library that must precede the preload; empty: there is none. */
bool hd_exec_target_loads_us(int dir, const char *path, char *const *argv, char first[HD_EXEC_NAME_BYTES]);

#endif
