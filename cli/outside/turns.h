/* SPDX-License-Identifier: MIT
 *
 * The sums of the turns of a process's loops. The watcher's thread.
 */
#ifndef CLI_OUTSIDE_TURNS_H
#define CLI_OUTSIDE_TURNS_H

#include "cli/outside/watched.h"

/* Adds the turns that the thread's loop has had until `now_ns`, or until the thread's end. Adds nothing for a
 * thread without a loop. */
void outside_turns_add(struct outside_turns *sums, const struct outside_thread *t, uint64_t now_ns);

#endif
