/* SPDX-License-Identifier: MIT
 *
 * The end of a run with hangs: what they cost, and the worst.
 */
#ifndef CLI_END_TABLE_H
#define CLI_END_TABLE_H

#include "cli/reporter/reporter.h"

/* `ran_ns`: for how long the program ran. */
void end_table_print(const struct reporter *r, uint64_t ran_ns);

#endif
