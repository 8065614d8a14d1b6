/* SPDX-License-Identifier: MIT
 *
 * Names the call in which the threads of libuv's pool wait, in a report of kind pool-stall. Ordinary code.
 */
#ifndef CLI_READER_LIBUV_WAIT_H
#define CLI_READER_LIBUV_WAIT_H

#include <jansson.h>
#include <stdbool.h>

/* "openat of stuck.fifo", "getaddrinfo": libuv's functions around it say nothing of the program. `own` is the
 * frame among `frames` that represents the report. The caller frees. NULL: the stall is of another pool, or
 * `own` is a function of the program or of Node. */
char *report_libuv_wait(const json_t *report, const json_t *frames, const json_t *own, bool with_path);

#endif
