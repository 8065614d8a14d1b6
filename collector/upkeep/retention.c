/* SPDX-License-Identifier: MIT */
#include "collector/upkeep/retention.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DAY_MS INT64_C(86400000)
#define REPORTS_OF_A_STEP 200

long retention_days(struct store *store) {
    char value[STORE_SETTING_BYTES], *end;
    enum store_found found = store_setting_get(store, RETENTION_SETTING, value);
    if (found != STORE_FOUND) {
        return found == STORE_NONE ? RETENTION_DAYS : -1;
    }
    long days = strtol(value, &end, 10);
    return end != value && *end == '\0' && days >= 0 && days <= RETENTION_DAYS_MAX ? days : RETENTION_DAYS;
}

bool retention_set_days(struct store *store, long days) {
    char value[24];
    snprintf(value, sizeof value, "%ld", days);
    return store_setting_set(store, RETENTION_SETTING, value);
}

bool retention_step(struct store *store) {
    long days = retention_days(store);
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    return days > 0 &&
           store_remove_old(store, now_ms - days * DAY_MS, REPORTS_OF_A_STEP) == REPORTS_OF_A_STEP;
}
