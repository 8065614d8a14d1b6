/* SPDX-License-Identifier: MIT */
#include "cli/reader/libuv_wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_text.h"
#include "cli/reader/frame_origin.h"

/* The outermost function that libuv calls, of the C library as a rule. NULL: none has a name. */
static const char *called_by_libuv(const json_t *frames, const json_t *own) {
    const json_t *frame;
    const char *called = NULL;
    size_t i;
    json_array_foreach(frames, i, frame) {
        const char *name = json_text_or_null(frame, "function");
        if (frame == own || (name != NULL && strncmp(name, "uv__", 4) == 0)) {
            break;
        }
        called = name != NULL ? name : called;
    }
    return called;
}

char *report_libuv_wait(const json_t *report, const json_t *frames, const json_t *own, bool with_path) {
    const json_t *cause = json_object_get(report, "cause");
    const char *pool = json_text_or_null(json_object_get(report, "pool"), "name"),
               *name = json_text_or_null(own, "function"), *path = json_text_or_null(cause, "path"),
               *syscall = json_text_or_null(cause, "syscall");
    char *text = NULL;
    if (pool == NULL || strcmp(pool, "libuv") != 0 || report_frame_is_own(report, own) ||
        (name != NULL && strstr(name, "::") != NULL)) {
        return NULL;
    }
    if (with_path && path != NULL && syscall != NULL) {
        return asprintf(&text, "%s of %s", syscall, path) >= 0 ? text : NULL;
    }
    const char *called = called_by_libuv(frames, own);
    return called != NULL ? strdup(called) : syscall != NULL ? strdup(syscall) : NULL;
}
