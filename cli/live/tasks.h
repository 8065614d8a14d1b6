/* SPDX-License-Identifier: MIT
 *
 * asyncio's event loops and their tasks in a report of kind `live`. Ordinary code.
 */
#ifndef CLI_LIVE_TASKS_H
#define CLI_LIVE_TASKS_H

#include <jansson.h>

#include "cli/live/threads.h"

/* Adds the member "event_loops" where the process has tasks: docs/report.schema.json. */
void tasks_add(json_t *report, const struct live_threads *t);

/* Gives threads that have the program's name the one that they have in Python. Call it before names are used.
 */
void tasks_name_threads(json_t *report, const struct live_threads *t);

#endif
