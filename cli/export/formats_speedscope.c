/* SPDX-License-Identifier: MIT
 *
 * speedscope's own format: a sampled profile for each thread of each report, in nanoseconds.
 */
#include "cli/export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"
#include "cli/export/intern.h"
#include "cli/export/stacks.h"
#include "cli/reader/report_load.h"
#include "cli/render/render.h"
#include "hangdog/hangdog.h"

struct profile {
    struct export_intern index;
    json_t *frames, *profiles;
};

static json_t *frame_json(const json_t *frame, const char *name) {
    json_t *out = json_object();
    json_object_set_new(out, "name", json_string(name));
    if (json_is_string(json_object_get(frame, "file"))) {
        json_object_set(out, "file", json_object_get(frame, "file"));
        if (export_number(frame, "line") > 0) {
            json_object_set(out, "line", json_object_get(frame, "line"));
        }
    }
    return out;
}

static json_t *frame_number(struct profile *p, const json_t *report, const json_t *frame) {
    char *name = export_frame_name(report, frame), *key = NULL;
    bool added = false;
    size_t number = 0;
    if (name != NULL && asprintf(&key, "%s\n%s\n%lld", name, report_text(frame, "file"),
                                 (long long)export_number(frame, "line")) >= 0) {
        number = export_intern(&p->index, key, &added);
        free(key);
    }
    if (added) {
        json_array_append_new(p->frames, frame_json(frame, name));
    }
    free(name);
    return json_integer((json_int_t)number);
}

static json_t *profile_name(const json_t *report, const struct export_thread *thread) {
    char ns[RENDER_DURATION_BYTES], *label = export_thread_label(thread);
    json_t *text = json_sprintf("%s, %s: %s of %s", report_text(json_object_get(report, "app"), "name"),
                                label != NULL ? label : "", report_text(report, "kind"),
                                render_duration(ns, export_number(report, "duration_ns")));
    free(label);
    return text;
}

static bool add_thread(struct profile *p, const json_t *report, const struct export_thread *thread) {
    json_t *samples = json_array(), *weights = json_array();
    for (size_t i = 0; i < thread->count; i++) {
        const struct export_stack *s = &thread->stack[i];
        json_t *stack = json_array();
        for (size_t k = s->count; k > 0; k--) {
            json_array_append_new(stack, frame_number(p, report, s->frame[k - 1]));
        }
        json_array_append_new(samples, stack);
        json_array_append_new(weights, json_integer(s->ns));
    }
    json_t *one = json_pack("{s:s, s:o, s:s, s:i, s:I, s:o, s:o}", "type", "sampled", "name",
                            profile_name(report, thread), "unit", "nanoseconds", "startValue", 0, "endValue",
                            (json_int_t)export_thread_ns(thread), "samples", samples, "weights", weights);
    return json_array_append_new(p->profiles, one) == 0;
}

static bool add_report(struct profile *p, const json_t *report) {
    struct export_threads threads;
    bool well = export_threads_read(report, &threads);
    for (size_t i = 0; well && i < threads.count; i++) {
        well = add_thread(p, report, &threads.thread[i]);
    }
    export_threads_free(&threads);
    return well;
}

int export_speedscope(FILE *out, const json_t *reports) {
    struct profile p = {.frames = json_array(), .profiles = json_array()};
    bool well = export_intern_init(&p.index);
    const json_t *report;
    size_t i;
    json_array_foreach(reports, i, report) {
        well = well && add_report(&p, report);
    }
    json_t *all = json_pack("{s:s, s:s, s:{s:o}, s:o}", "$schema",
                            "https://www.speedscope.app/file-format-schema.json", "exporter",
                            "hangdog@" HANGDOG_VERSION, "shared", "frames", p.frames, "profiles", p.profiles);
    export_intern_free(&p.index);
    errno = well && all != NULL ? errno : ENOMEM;
    well = well && all != NULL && sanitize_print_json(out, all, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0;
    json_decref(all);
    return well ? 0 : -1;
}
