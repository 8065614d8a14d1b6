/* SPDX-License-Identifier: MIT
 *
 * All stored reports again by the present rule of grouping: hangdog serve --regroup.
 */
#ifndef COLLECTOR_REGROUP_H
#define COLLECTOR_REGROUP_H

#include <signal.h>

#include "collector/store/store.h"

/* Returns once all are grouped, or one of `signals` came: then the next run goes on. The exit status. */
int regroup_all(struct store *store, const sigset_t *signals);

#endif
