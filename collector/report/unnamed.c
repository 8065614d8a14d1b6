/* SPDX-License-Identifier: MIT */
#include "collector/report/unnamed.h"

#include <stdio.h>
#include <string.h>

#include "cli/reader/frame_origin.h"

#define ID_MIN 8

struct builds {
    char (*id)[UNNAMED_ID_BYTES];
    size_t count;
};

bool unnamed_is_build_id(const char *text) {
    size_t n = strlen(text);
    return n >= ID_MIN && n < UNNAMED_ID_BYTES && n % 2 == 0 && strspn(text, "0123456789abcdef") == n;
}

static void add(struct builds *builds, const char *id) {
    for (size_t i = 0; i < builds->count; i++) {
        if (strcmp(builds->id[i], id) == 0) {
            return;
        }
    }
    if (builds->count < UNNAMED_BUILDS_MAX) {
        snprintf(builds->id[builds->count++], UNNAMED_ID_BYTES, "%s", id);
    }
}

static void add_frames(struct builds *builds, const json_t *report, const json_t *stack) {
    size_t i;
    const json_t *frame;
    json_array_foreach(json_object_get(stack, "frames"), i, frame) {
        const char *id = json_string_value(json_object_get(report_frame_module(report, frame), "build_id"));
        if (id != NULL && json_object_get(frame, "function") == NULL && unnamed_is_build_id(id)) {
            add(builds, id);
        }
    }
}

size_t unnamed_builds(const json_t *report, char out[UNNAMED_BUILDS_MAX][UNNAMED_ID_BYTES]) {
    struct builds builds = {.id = out};
    const json_t *owner = json_object_get(json_object_get(report, "cause"), "lock_owner_tid"), *thread;
    size_t i;
    add_frames(&builds, report, json_object_get(report, "hot_stack"));
    add_frames(&builds, report, json_object_get(json_object_get(report, "samples"), "tree"));
    json_array_foreach(json_object_get(report, "threads"), i, thread) {
        if (owner != NULL && json_equal(owner, json_object_get(thread, "tid"))) {
            add_frames(&builds, report, json_object_get(thread, "stack"));
        }
    }
    return builds.count;
}
