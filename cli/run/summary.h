/* SPDX-License-Identifier: MIT
 *
 * What hangdog run says when the program has ended: how it was watched, and what was not. Ordinary code.
 */
#ifndef HD_CLOSING_H
#define HD_CLOSING_H

#include "cli/run/run_options.h"
#include "cli/run/runner.h"

/* `session_told`: the session report was, as it is with --json; `last`: the id of the last report of it in
 * the spool, or empty: there is none. */
void closing_lines(const struct runner *r, const struct run_options *o, bool session_told, const char *last);

#endif
