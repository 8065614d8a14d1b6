/* SPDX-License-Identifier: MIT
 *
 * For how many days reports are kept. The setting in the store says it, so that it can be changed while the
 * collector runs.
 */
#ifndef COLLECTOR_RETENTION_H
#define COLLECTOR_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/store/store.h"

#define RETENTION_SETTING "retention_days"
#define RETENTION_DAYS 90
#define RETENTION_DAYS_MAX 36500

/* 0: for good. -1: the store failed, and nothing may be removed. */
long retention_days(struct store *store);
bool retention_set_days(struct store *store, long days);

/* Of a store that was just made: believes the clock. */
bool retention_start(struct store *store);

/* ---- whether the machine's clock is right: a wrong one would remove all reports ---------------- */

/* The collector keeps these three numbers in the store. All zero: the store has none yet. */
struct clock_trust {
    int64_t seen_ms;   /* the last time that was believed */
    int64_t other_ms;  /* the last time of a clock that differs */
    int64_t waited_ms; /* for how long that clock has stayed; 0: there is none */
};

enum clock_verdict {
    CLOCK_TRUSTED,
    CLOCK_JUMPED, /* the clock has jumped since the last look */
    CLOCK_WAITS   /* the clock has jumped, and has not stayed for a day since */
};

/* One look. `now_ms`: what the clock says; `passed_ms`: what CLOCK_BOOTTIME says since the look before, 0 at
 * the first look of a process. */
enum clock_verdict retention_check_clock(struct clock_trust *c, int64_t now_ms, int64_t passed_ms);

/* ---- steps ------------------------------------------------------------------------------------- */

/* The state in one process; zeros at first. Only the writer's thread uses it. */
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
