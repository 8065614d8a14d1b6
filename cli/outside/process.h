/* SPDX-License-Identifier: MIT
 *
 * Begins and ends the watch of a process, and looks at the threads.
 */
#ifndef CLI_OUTSIDE_PROCESS_H
#define CLI_OUTSIDE_PROCESS_H

#include "cli/outside/watched.h"

/* Starts to watch a process and all its threads. 0, or a negative errno value and why. */
int outside_process_add(struct watcher *w, pid_t pid, struct problem *why);

/* Ends the watch and frees the process: settles its reports, and calls process_ended. `lives`: the process
 * still runs. */
void outside_process_end(struct outside_process *p, bool lives);

/* Looks at the threads that are followed or have ended. `all`: at all others, too. Returns when the next look
 * is due. */
uint64_t outside_process_look(struct outside_process *p, uint64_t now_ns, bool all);

/* Looks at one of them. */
uint64_t outside_process_look_at(struct outside_thread *t, uint64_t now_ns);

/* Lists the process's threads anew, sums up their turns, and finds out whether the process lives. */
void outside_process_check(struct outside_process *p, uint64_t now_ns);

#endif
