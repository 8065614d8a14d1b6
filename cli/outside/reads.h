/* SPDX-License-Identifier: MIT
 *
 * The functions of src/capture read the threads of one process at a time.
 */
#ifndef CLI_OUTSIDE_READS_H
#define CLI_OUTSIDE_READS_H

#include "cli/outside/watched.h"

/* From now on they read the threads of this process. 0 or a negative errno value. */
int outside_reads(struct outside_process *p);
/* From now on they read no process. */
void outside_reads_no_more(struct watcher *w);

#endif
