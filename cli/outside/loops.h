/* SPDX-License-Identifier: MIT
 *
 * The recogniser's findings about the loop of a thread: they decide which reports are published.
 */
#ifndef CLI_OUTSIDE_LOOPS_H
#define CLI_OUTSIDE_LOOPS_H

#include "cli/outside/watched.h"

/* The thread has begun a wait of a new kind. */
void loops_sight(struct outside_thread *t, const struct hd_hook_sight *sight);
/* Lets the recogniser count the thread's waits if that is due, and takes its findings. False: that is due,
 * and the program or its user has no time left. */
bool loops_look(struct outside_thread *t, uint64_t now_ns);
/* The thread has ended, or its process runs another program now. */
void loops_forget(struct outside_thread *t);

#endif
