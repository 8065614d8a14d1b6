/* SPDX-License-Identifier: MIT
 * Hangdog's own threads in a process that it watches. Ordinary code.
 */
#ifndef CLI_LIVE_OWN_THREADS_H
#define CLI_LIVE_OWN_THREADS_H

#include <stdbool.h>

struct live_process; /* cli/live/process.h */

/* Whether a thread of Hangdog has this name. Any program may use the name too. */
bool own_thread_name(const char *name);

/* Whether Hangdog watches the process, by the process's memory: some milliseconds. */
bool own_threads_are_in(const struct live_process *p);

#endif
