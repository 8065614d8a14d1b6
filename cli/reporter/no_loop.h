/* SPDX-License-Identifier: MIT
 *
 * Messages of a run whose loop was not seen, or was not certain: why, in figures, and what helps.
 */
#ifndef CLI_NO_LOOP_H
#define CLI_NO_LOOP_H

#include "cli/reporter/reporter.h"

/* No loop was seen. `ran`: for how long the program ran. */
void no_loop_print(const struct reporter *r, const char *ran);
/* --loop names no caller of a wait. */
void no_loop_print_option(const struct reporter *r, const char *ran);
/* A loop was seen that is not certain, and no hang is reported. */
void no_loop_print_uncertain(const struct reporter *r, const char *ran);

/* Prints that the program failed within seconds, before any wait, so that no option would help. False: the
 * program did not fail so, and nothing is printed. */
bool no_loop_print_start(const struct reporter *r, uint64_t ran_ns, const char *ran);
/* Prints `before`, and the program's child processes that may have hangs, with a command that watches them.
 * False: no such process, and nothing is printed. */
bool no_loop_print_children(const struct reporter *r, const char *before);

#endif
