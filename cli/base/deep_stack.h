/* SPDX-License-Identifier: MIT
 *
 * What may take long while the program runs, or go deep: symbols that are looked up, a standard error that
 * nobody reads. Ordinary code.
 */
#ifndef CLI_BESIDE_H
#define CLI_BESIDE_H

#include "cli/run/runner.h"

/* Calls it on a thread of its own, and returns when it has: signals are passed on meanwhile, and stops and
 * the end of the program are seen. False: the
 * program has ended, and it takes too long, or somebody wants us to end too. Then it goes on, with all that
 * it was given, until we end: with runner_end_at_once. */
bool beside(struct runner *r, void (*call)(void *), void *argument);

/* Calls it on a thread that has room for what debug information asks of a stack. */
void on_a_deep_stack(void (*call)(void *), void *argument);

#endif
