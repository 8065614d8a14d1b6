/* SPDX-License-Identifier: MIT
 *
 * Functions of a language's own library, by their names and their files. Pure.
 */
#ifndef CLI_LIBRARY_NAMES_H
#define CLI_LIBRARY_NAMES_H

#include <stdbool.h>

/* A demangled name of C++'s or Rust's standard library. */
bool is_of_standard_library(const char *name);
/* A header or a source of the system or of a language's library. */
bool is_library_header(const char *file);

/* A function that runs a library's event loop and calls the program back. The demangled name may have
 * parameters. */
bool is_library_loop(const char *name);

bool names_begin_with(const char *text, const char *beginning);
bool names_begin_with_any(const char *text, const char *const *beginnings); /* the last one is NULL */

#endif
