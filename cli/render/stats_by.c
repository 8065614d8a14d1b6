/* SPDX-License-Identifier: MIT */
#include "cli/render/stats_by.h"

#include <stddef.h>
#include <string.h>

#define KEY(...) groups_key(summary, (const char *const[]){__VA_ARGS__, NULL})

static char *key_of_function(const json_t *summary) {
    bool named = json_object_get(summary, "function") != NULL;
    bool placed = json_object_get(summary, "place") != NULL;
    return KEY("app", "cause", named ? "function" : placed ? "place" : "fingerprint");
}

static char *key_of_cause(const json_t *summary) {
    return KEY("app", "cause");
}

static char *key_of_version(const json_t *summary) {
    return KEY("app", "version");
}

static char *key_of_host(const json_t *summary) {
    return KEY("app", "host");
}

static char *key_of_unit(const json_t *summary) {
    return KEY("app", "unit");
}

static char *key_of_container(const json_t *summary) {
    return KEY("app", "container");
}

#define COST                                            \
    {.title = "LOST"}, {.title = "N", .right = true}, { \
        .title = "WORST", .right = true, .drops = 2     \
    }
#define APP                                         \
    {.title = "APP", .gives_way = 2, .least = 8}, { \
        .title = "LAST", .drops = 3                 \
    }
#define NAMES(title_) \
    { COST, {.title = (title_), .gives_way = 1, .least = 12}, APP }

const struct stats_by *stats_by_find(const char *name) {
    static const struct stats_by all[] = {
        {"function",
         key_of_function,
         "cause",
         true,
         {COST, {.title = "CAUSE", .drops = 1}, {.title = "FUNCTION", .gives_way = 1, .least = 18}, APP}},
        {"cause", key_of_cause, "cause", false, {COST, {.title = "CAUSE"}, APP}},
        {"version", key_of_version, "version", false, NAMES("VERSION")},
        {"host", key_of_host, "host", false, NAMES("HOST")},
        {"unit", key_of_unit, "unit", false, NAMES("UNIT")},
        {"container", key_of_container, "container", false, NAMES("CONTAINER")}};
    for (size_t i = 0; name != NULL && i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    return &all[0];
}
