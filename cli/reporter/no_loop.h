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
/* One was seen that is not certain, and no hang is reported. */
void no_loop_print_unsure(const struct reporter *r, const char *ran);

/* It failed within seconds, before any wait: nothing could be seen, and no other option would help. False: it
 * did not, and nothing is printed. */
bool no_loop_print_start(const struct reporter *r, uint64_t ran_ns, const char *ran);
/* `before`, and the processes of the program in which there may be hangs that this run did not see; with the
 * command that sees them. False: there are none, and nothing is printed. */
bool no_loop_print_children(const struct reporter *r, const char *before);

#endif
