/* SPDX-License-Identifier: MIT */
#include "collector/keys/key_settings.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/grouping.h"
#include "collector/upkeep/retention.h"

#define LARGEST 1000000000L

static const struct {
    const char *name;
    size_t to;
    long value; /* where the store has none */
} limits[] = {
    {"reports_per_minute", offsetof(struct key_limits, reports_per_minute), 300000},
    {"reports_per_day", offsetof(struct key_limits, reports_per_day), 0},
    {"report_bytes", offsetof(struct key_limits, report_bytes), 8 << 20},
    {"group_reports_per_minute", offsetof(struct key_limits, group_reports_per_minute), 0},
};
#define LIMITS (sizeof limits / sizeof limits[0])

/* -1: the store failed. */
static long read_one(struct store *store, size_t i) {
    char value[STORE_SETTING_BYTES], *end;
    enum store_found found = store_setting_get(store, limits[i].name, value);
    if (found != STORE_FOUND) {
        return found == STORE_NONE ? limits[i].value : -1;
    }
    long number = strtol(value, &end, 10);
    return end != value && *end == '\0' && number >= 0 && number <= LARGEST ? number : limits[i].value;
}

bool key_settings_read(struct store *store, struct key_limits *out) {
    long value[LIMITS];
    for (size_t i = 0; i < LIMITS; i++) {
        if ((value[i] = read_one(store, i)) < 0) {
            return false;
        }
    }
    for (size_t i = 0; i < LIMITS; i++) {
        *(long *)(void *)((char *)out + limits[i].to) = value[i];
    }
    return true;
}

json_t *key_settings_json(struct store *store) {
    long days = retention_days(store);
    if (days < 0) {
        return NULL;
    }
    json_t *all = json_object();
    for (size_t i = 0; i < LIMITS; i++) {
        long value = read_one(store, i);
        if (value < 0) {
            json_decref(all);
            return NULL;
        }
        json_object_set_new(all, limits[i].name, json_integer(value));
    }
    return json_pack("{s:I, s:o, s:i}", "retention_days", (json_int_t)days, "limits", all, "grouping_version",
                     GROUPING_VERSION);
}

static bool is_number(const json_t *value, long most) {
    return json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= most;
}

static bool is_limit(const char *name) {
    for (size_t i = 0; i < LIMITS; i++) {
        if (strcmp(limits[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *key_settings_fault(const json_t *change) {
    const char *name;
    json_t *value;
    if (!json_is_object(change)) {
        return "the settings are no object";
    }
    json_object_foreach((json_t *)(uintptr_t)change, name, value) {
        if (strcmp(name, "retention_days") == 0 && !is_number(value, RETENTION_DAYS_MAX)) {
            return "retention_days: want a number of days, 0 for good";
        }
        if (strcmp(name, "limits") == 0 && !json_is_object(value)) {
            return "limits: want an object";
        }
        if (strcmp(name, "retention_days") != 0 && strcmp(name, "limits") != 0 &&
            strcmp(name, "grouping_version") != 0) {
            return "an unknown setting";
        }
    }
    json_object_foreach(json_object_get(change, "limits"), name, value) {
        if (!is_limit(name) || !is_number(value, LARGEST)) {
            return "limits: want numbers, 0 for no limit, of known names";
        }
    }
    return NULL;
}

bool key_settings_change(struct store *store, const json_t *change) {
    const char *name;
    const json_t *days = json_object_get(change, "retention_days");
    json_t *value;
    bool done = true;
    if (days != NULL) {
        done = retention_set_days(store, (long)json_integer_value(days));
    }
    json_object_foreach(json_object_get(change, "limits"), name, value) {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        done = done && store_setting_set(store, name, text);
    }
    return done;
}
