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

#endif
