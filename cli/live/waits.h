/* SPDX-License-Identifier: MIT
 *
 * Describes in words what a thread waits for. One thread.
 */
#ifndef CLI_LIVE_WAITS_H
#define CLI_LIVE_WAITS_H

#include <jansson.h>

#include "cli/live/threads.h"

/* The "cause" of thread `i` in a report that has its functions' names; NULL: it waits for nothing. */
json_t *wait_cause(const json_t *report, const struct live_threads *t, size_t i);

/* The rings of threads that wait for each other's locks: arrays of thread ids. */
json_t *wait_rings(const struct live_threads *t);

#endif
