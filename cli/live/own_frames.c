/* SPDX-License-Identifier: MIT */
#include "cli/live/own_frames.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reader/reports.h"

static bool is_named(const json_t *frame) {
    return json_object_get(frame, "function") != NULL;
}

static bool is_start(const json_t *frame) {
    const char *name = json_string_value(json_object_get(frame, "function"));
    return name != NULL && strcmp(name, "_start") == 0;
}

/* Of the program or its script; where neither is on the stack none is. */
static bool is_own(const json_t *report, const json_t *frame, enum frame_origin least) {
    enum frame_origin origin = report_frame_origin(report, frame);
    return origin >= least && origin != OF_SYSTEM_SCRIPT && !is_start(frame);
}

static enum frame_origin best_origin(const json_t *report, const json_t *frames) {
    enum frame_origin best = OF_SYSTEM;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        enum frame_origin origin = report_frame_origin(report, frame);
        best = origin > best && origin != OF_SYSTEM_SCRIPT && !is_start(frame) ? origin : best;
    }
    return best;
}

static void choose_all(struct own_frames *own, const json_t *frames, size_t max) {
    for (size_t i = 0; i < json_array_size(frames) && own->count < max; i++) {
        own->frame[own->count++] = json_array_get(frames, i);
    }
}

void own_frames_choose(struct own_frames *own, const json_t *report, const json_t *frames, size_t max) {
    *own = (struct own_frames){.frame = calloc(json_array_size(frames) + 1, sizeof(json_t *))};
    if (own->frame == NULL) {
        return;
    }
    enum frame_origin best = best_origin(report, frames);
    if (max == SIZE_MAX || best < OF_LIBRARY) {
        choose_all(own, frames, max);
        return;
    }
    for (size_t i = 0; i < json_array_size(frames) && own->count < max; i++) {
        const json_t *frame = json_array_get(frames, i);
        if (is_own(report, frame, best == OF_SCRIPT ? OF_SCRIPT : OF_LIBRARY)) {
            own->frame[own->count++] = frame;
        } else if (own->count == 0 && is_named(frame)) {
            own->library = frame;
        }
    }
}

void own_frames_free(struct own_frames *own) {
    free(own->frame);
    *own = (struct own_frames){0};
}
