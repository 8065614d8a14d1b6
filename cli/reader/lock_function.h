/* SPDX-License-Identifier: MIT
 *
 * Names the locks of Rust. Their functions are not exported, so the names come from the symbols.
 */
#ifndef CLI_LOCK_FUNCTION_H
#define CLI_LOCK_FUNCTION_H

#include <jansson.h>

/* "a mutex of Rust", for the named frames of a thread that waits in a futex; NULL: none of these. */
const char *report_lock_function(const json_t *frames);

#endif
