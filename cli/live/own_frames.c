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

/* Where the C library has the call, its name says what the thread waits in. */
static bool is_of_c_library(const json_t *report, const json_t *frame) {
    static const char *const names[] = {"libc.", "libc-", "libpthread", "linux-vdso"};
    char *place = report_frame_place(report, frame);
    bool found = false;
    for (size_t i = 0; place != NULL && i < sizeof names / sizeof names[0]; i++) {
        found |= strncmp(place, names[i], strlen(names[i])) == 0;
    }
    free(place);
    return found;
}

/* Whose frames stand for the stack: the script's, else those of scripts of the system, else the program's
 * with its own libraries, else all but the C library's. */
enum choice { OF_ITS_SCRIPT, OF_ANY_SCRIPT, OF_ITS_CODE, OF_LIBRARIES };

static enum choice choose(const json_t *report, const json_t *frames) {
    bool script = false, any_script = false, code = false;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        enum frame_origin origin = report_frame_origin(report, frame);
        script |= origin == OF_SCRIPT;
        any_script |= origin == OF_SYSTEM_SCRIPT && json_object_get(frame, "language") != NULL;
        code |= (origin == OF_LIBRARY || origin == OF_PROGRAM) && !is_start(frame);
    }
    return script ? OF_ITS_SCRIPT : any_script ? OF_ANY_SCRIPT : code ? OF_ITS_CODE : OF_LIBRARIES;
}

static bool fits_choice(enum choice choice, const json_t *report, const json_t *frame) {
    enum frame_origin origin = report_frame_origin(report, frame);
    switch (choice) {
    case OF_ITS_SCRIPT:
        return origin == OF_SCRIPT;
    case OF_ANY_SCRIPT:
        return origin == OF_SYSTEM_SCRIPT && json_object_get(frame, "language") != NULL;
    case OF_ITS_CODE:
        return (origin == OF_LIBRARY || origin == OF_PROGRAM) && !is_start(frame);
    case OF_LIBRARIES:
        break;
    }
    return !is_of_c_library(report, frame);
}

/* What the first one called: of a script's function the outermost of the scripts' library, else the call
 * itself. */
static const json_t *called_by(enum choice choice, const json_t *report, const json_t *frames, size_t first) {
    const json_t *library = NULL;
    for (size_t i = 0; i < first; i++) {
        const json_t *frame = json_array_get(frames, i);
        bool of_script = report_frame_origin(report, frame) == OF_SYSTEM_SCRIPT;
        bool fits = choice == OF_ITS_SCRIPT ? of_script || library == NULL
                                            : choice != OF_ANY_SCRIPT || library == NULL;
        if (is_named(frame) && fits) {
            library = frame;
        }
    }
    return library;
}

void own_frames_choose(struct own_frames *own, const json_t *report, const json_t *frames, size_t max) {
    *own = (struct own_frames){.frame = calloc(json_array_size(frames) + 1, sizeof(json_t *))};
    if (own->frame == NULL) {
        return;
    }
    enum choice choice = choose(report, frames);
    for (size_t i = 0; i < json_array_size(frames) && own->count < max; i++) {
        const json_t *frame = json_array_get(frames, i);
        if (max != SIZE_MAX && !fits_choice(choice, report, frame)) {
            continue;
        }
        if (own->count == 0) {
            own->library = called_by(choice, report, frames, i);
        }
        own->frame[own->count++] = frame;
    }
    for (size_t i = 0; own->count == 0 && i < json_array_size(frames) && i < max; i++) {
        own->frame[own->count++] = json_array_get(frames, i); /* all of it is the C library's */
    }
}

void own_frames_free(struct own_frames *own) {
    free(own->frame);
    *own = (struct own_frames){0};
}
