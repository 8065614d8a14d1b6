/* SPDX-License-Identifier: MIT */
#include "cli/render/html_page.h"

#include <errno.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/own_frame.h"

/* The one place of the template where the report belongs: the content of a script element of type
 * application/json, which no browser runs. */
static const char marker[] = "@HANGDOG_REPORT@";

static const unsigned char *find_marker(void) {
    return memmem(html_page_template, html_page_template_bytes, marker, sizeof marker - 1);
}

static void mark_frames(const json_t *report, json_t *frames) {
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame) {
        if (json_is_object(frame)) {
            json_object_set_new(frame, "own", json_boolean(report_frame_is_own(report, frame)));
        }
    }
}

static void mark_stacks(const json_t *report, json_t *list, const char *member) {
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry) {
        json_t *stack = member != NULL ? json_object_get(entry, member) : entry;
        mark_frames(report, json_object_get(stack, "frames"));
    }
}

/* Which frames are the user's own takes rules that the page does not have. */
static void mark_own(json_t *report) {
    const json_t *samples = json_object_get(report, "samples");
    mark_frames(report, json_object_get(json_object_get(report, "hot_stack"), "frames"));
    mark_frames(report, json_object_get(json_object_get(samples, "tree"), "frames"));
    mark_stacks(report, json_object_get(samples, "stacks"), NULL);
    mark_stacks(report, json_object_get(report, "threads"), "stack");
    json_object_set_new(report, "page", json_pack("{s:b}", "own", 1));
}

/* These characters stand in texts only, where JSON has another form for each: no text ends the element. */
static int put_escaped(const char *text, size_t bytes, void *out) {
    for (size_t i = 0; i < bytes; i++) {
        if (strchr("<>&\x7f", text[i]) != NULL) {
            fprintf(out, "\\u%04x", (unsigned char)text[i]);
        } else {
            fputc(text[i], out);
        }
    }
    return ferror((FILE *)out) ? -1 : 0;
}

/* The report, its text, and the function that stands for it. */
static json_t *content_of(json_t *report, const char *text) {
    const json_t *frame = report_own_frame(report);
    const char *file = file_name(json_string_value(json_object_get(frame, "file")));
    json_t *name = json_object_get(frame, "function");
    json_t *content = json_pack("{s:O, s:s}", "report", report, "text", text);
    if (content != NULL && name != NULL) {
        json_object_set(content, "function", name);
    }
    if (content != NULL && file != NULL) {
        json_object_set_new(
            content, "place",
            json_sprintf("%s:%lld", file, (long long)json_integer_value(json_object_get(frame, "line"))));
    }
    return content;
}

int html_page_write(FILE *out, json_t *report, const char *text) {
    const unsigned char *place = find_marker();
    mark_own(report);
    json_t *content = content_of(report, text);
    if (place == NULL || content == NULL) {
        json_decref(content);
        errno = place == NULL ? ENOSYS : ENOMEM;
        return -1;
    }
    const size_t before = (size_t)(place - html_page_template), after = before + sizeof marker - 1;
    const size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    bool well = fwrite(html_page_template, 1, before, out) == before &&
                json_dump_callback(content, put_escaped, out, flags) == 0 &&
                fwrite(place + sizeof marker - 1, 1, html_page_template_bytes - after, out) ==
                    html_page_template_bytes - after;
    json_decref(content);
    return well && fflush(out) == 0 ? 0 : -1;
}
