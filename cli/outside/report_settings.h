/* SPDX-License-Identifier: MIT
 *
 * The settings of another process's worker, from the options of the record. The watcher's thread.
 */
#ifndef CLI_OUTSIDE_REPORT_SETTINGS_H
#define CLI_OUTSIDE_REPORT_SETTINGS_H

#include "cli/outside/watched.h"
#include "watch/run.h"

/* How exact the turns of a hook are, in the schema's words. */
const char *report_settings_turns(const struct hd_hook_way *way);
/* Fills what differs from zero. */
void report_settings_fill(const struct outside_process *p, struct hd_settings *s);

#endif
