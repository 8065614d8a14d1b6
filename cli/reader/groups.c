/* SPDX-License-Identifier: MIT */
#include "cli/reader/groups.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *groups_key(const json_t *summary, const char *const *members) {
    char *key = strdup("");
    for (; key != NULL && *members != NULL; members++) {
        const char *text = json_string_value(json_object_get(summary, *members));
        char *longer = NULL;
        if (asprintf(&longer, "%s%s\n", key, text != NULL ? text : "") < 0) {
            longer = NULL;
        }
        free(key);
        key = longer;
    }
    return key;
}

static json_int_t number(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

static void set_number(json_t *object, const char *name, json_int_t value) {
    json_object_set_new(object, name, json_integer(value));
}

json_int_t groups_add_times(json_int_t a, json_int_t b) {
    a = a > 0 ? a : 0;
    b = b > 0 ? b : 0;
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* The group's row takes the summary's place in time. */
static void add(json_t *row, json_t *summary) {
    json_int_t ns = number(summary, "duration_ns");
    json_int_t count = number(row, "count"), total = number(row, "total_ns"), max = number(row, "max_ns");
    json_t *at_least = json_incref(json_object_get(ns > max ? summary : row, "at_least"));
    if (count == 0 || json_is_true(json_object_get(row, "brief")) ||
        !json_is_true(json_object_get(summary, "brief"))) {
        json_object_update(row, summary);
    }
    json_object_del(row, "at_least");
    if (at_least != NULL) {
        json_object_set_new(row, "at_least", at_least); /* is of the longest */
    }
    set_number(row, "count", count + 1);
    set_number(row, "total_ns", groups_add_times(total, ns));
    set_number(row, "max_ns", ns > max ? ns : max);
    json_object_set(row, "last_at", json_object_get(summary, "started_at"));
    set_number(row, "order", number(summary, "order"));
}

static int by_order(const void *a, const void *b) {
    json_int_t x = number(*(json_t *const *)a, "order"), y = number(*(json_t *const *)b, "order");
    return (x > y) - (x < y);
}

json_t *groups_make(const json_t *summaries, group_key *key) {
    json_t *groups = json_object(), *rows = json_array(), *summary, *row;
    size_t i, n = 0;
    const char *name;
    json_array_foreach(summaries, i, summary) {
        char *text = key(summary);
        if (text == NULL) {
            continue;
        }
        row = json_object_get(groups, text);
        if (row == NULL) {
            row = json_object();
            json_object_set_new(groups, text, row);
        }
        set_number(summary, "order", (json_int_t)i);
        add(row, summary);
        free(text);
    }
    json_t **sorted = calloc(json_object_size(groups) + 1, sizeof(json_t *));
    json_object_foreach(groups, name, row) {
        if (sorted != NULL) {
            sorted[n++] = row;
        }
    }
    if (sorted != NULL) {
        qsort(sorted, n, sizeof(json_t *), by_order);
    }
    for (i = 0; i < n; i++) {
        json_object_del(sorted[i], "order");
        json_array_append(rows, sorted[i]);
    }
    free(sorted);
    json_decref(groups);
    return rows;
}
