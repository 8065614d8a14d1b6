/* SPDX-License-Identifier: MIT
 *
 * The day on which this program was configured to be built: no clock that is right is before it.
 */
#ifndef COLLECTOR_BUILD_DATE_H
#define COLLECTOR_BUILD_DATE_H

#include <stdbool.h>

/* "2026-01-31", of UTC. */
const char *build_date(void);
/* The clock is more than a day before it: a machine without a clock that runs on, before it has the time. */
bool build_date_is_to_come(void);

#endif
