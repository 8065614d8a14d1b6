/* SPDX-License-Identifier: MIT
 *
 * CPU time as the aim of a fuzzer: an input that takes more of it than all before, in any part of the work,
 * is kept and changed on. The worst of each part is printed at the end, and in the file WORST-part of
 * HANGDOG_FUZZ_KEEP, where that is set.
 */
#ifndef FUZZ_COST_H
#define FUZZ_COST_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_PARTS_MAX 16

/* Before the parts of an input. */
void fuzz_cost_start(const uint8_t *data, size_t bytes);
/* What was done since fuzz_cost_start or the last call was `part`, which is below FUZZ_PARTS_MAX. More than
 * the limit, HANGDOG_FUZZ_MS or 2,000 ms, ends the program as a fault. */
void fuzz_cost_end(unsigned part, const char *name);

#endif
