/* SPDX-License-Identifier: MIT
 *
 * The heat of the machine, as the program's newest notification says (NSProcessInfoThermalState). Any thread;
 * wait-free.
 */
#ifndef HD_OS_DARWIN_THERMAL_STATE_H
#define HD_OS_DARWIN_THERMAL_STATE_H

#include "base/types.h"

/* Stores the state: 0 nominal, 1 fair, 2 serious, 3 critical. Other numbers: not known. */
void hd_thermal_state_store(long state);
/* Returns the word of a report. NULL: not known. */
const char *hd_thermal_state_word(void);

#endif
