/* SPDX-License-Identifier: MIT
 *
 * Runs a call that may block on a second thread: symbol lookup, a full stderr pipe.
 */
#ifndef CLI_SECOND_THREAD_H
#define CLI_SECOND_THREAD_H

#include "cli/run/runner.h"

/* Returns when the call has returned. The caller's thread handles the runner's signals meanwhile. False: the
 * program has ended, and the call takes too long, or a signal asks this process to end too. Then the call
 * goes on with all that it was given until this process ends: with runner_end_at_once. */
bool on_second_thread(struct runner *r, void (*call)(void *), void *argument);

#endif
