/* SPDX-License-Identifier: MIT
 *
 * The line that says which loop is watched, so that the user sees a wrong one.
 */
#ifndef CLI_LOOP_LINE_H
#define CLI_LOOP_LINE_H

#include "cli/reporter/reporter.h"

/* On a terminal: prints it, once the loop is known. Elsewhere it reads where the waits come from, for the
 * summary. When to call it again, UINT64_MAX: never for the line's sake. */
uint64_t loop_line_print(struct reporter *r, uint64_t now_ns);

#endif
