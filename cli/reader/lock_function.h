/* SPDX-License-Identifier: MIT
 *
 * Locks whose functions have no exported name, by those that the symbols have: Rust's.
 */
#ifndef CLI_LOCK_FUNCTION_H
#define CLI_LOCK_FUNCTION_H

#include <jansson.h>

/* "a mutex of Rust", for the named frames of a thread that waits in a futex; NULL: none of these. */
const char *report_lock_function(const json_t *frames);

#endif
