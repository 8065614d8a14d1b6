/* SPDX-License-Identifier: MIT
 *
 * For how many days reports are kept. The setting in the store says it, so that it can be changed while the
 * collector runs.
 */
#ifndef COLLECTOR_RETENTION_H
#define COLLECTOR_RETENTION_H

#include <stdbool.h>

#include "collector/store/store.h"

#define RETENTION_SETTING "retention_days"
#define RETENTION_DAYS 90
#define RETENTION_DAYS_MAX 36500

/* 0: for good. -1: the store failed, and nothing may be removed. */
long retention_days(struct store *store);
bool retention_set_days(struct store *store, long days);

/* Removes a few reports that are too old. True: there may be more. The writer calls it. */
bool retention_step(struct store *store);

#endif
