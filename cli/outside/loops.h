/* SPDX-License-Identifier: MIT
 *
 * The recogniser's findings about the loop of a thread: they decide which reports are published.
 */
#ifndef CLI_OUTSIDE_LOOPS_H
#define CLI_OUTSIDE_LOOPS_H

#include "cli/outside/watched.h"

/* The recogniser says how certain the thread's loop is. */
void outside_thread_certainty(struct outside_thread *t, enum hd_record_certainty certainty);
/* Another loop takes the place of the thread's loop, so the running turn is void, and deferred reports too.
 */
void outside_thread_another(struct outside_thread *t);

#endif
