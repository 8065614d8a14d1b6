/* SPDX-License-Identifier: MIT
 *
 * For how many days reports are kept. The setting in the store says it, so that it can be changed while the
 * collector runs.
 */
#ifndef COLLECTOR_RETENTION_H
#define COLLECTOR_RETENTION_H

#include <stdbool.h>

#include "collector/store/store.h"
#include "collector/upkeep/clock_trust.h"

#define RETENTION_SETTING "retention_days"
#define RETENTION_DAYS 90
#define RETENTION_DAYS_MAX 36500

/* 0: for good. -1: the store failed, and nothing may be removed. */
long retention_days(struct store *store);
bool retention_set_days(struct store *store, long days);

/* Of a store that was just made: believes the clock. */
bool retention_start(struct store *store);

/* What one process knows; zeros at first. The writer's thread alone has it. */
struct retention {
    bool has_clock; /* `clock` was read from the store */
    struct clock_trust clock, stored;
    int64_t boot_ms; /* CLOCK_BOOTTIME of the look before; 0: there was none */
    int64_t left;    /* reports that this look may still remove; 0: the next step starts a look */
};

/* Removes a few reports that are too old, where the clock is to be believed. True: there may be more. A look
 * that returned false ends; it has removed a part of the store at most. */
bool retention_step(struct retention *r, struct store *store);

#endif
