/* SPDX-License-Identifier: MIT
 *
 * All stored reports again by the present rule of grouping: hangdog serve --regroup.
 */
#ifndef COLLECTOR_REGROUP_H
#define COLLECTOR_REGROUP_H

#include <signal.h>

#include "collector/store/store.h"

/* Groups all reports again. Returns the exit status, at the end or after one of `signals`; the next run then
 * continues. */
int regroup_all(struct store *store, const sigset_t *signals);

#endif
