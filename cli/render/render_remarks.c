/* SPDX-License-Identifier: MIT
 *
 * The remarks below a hang: its end, its start where that is not exact, and what the report does not have.
 */
#include "cli/reader/coverage.h"
#include "cli/reader/report_words.h"
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL = RENDER_LABEL
};

/* Prints the number of threads, the reason for the kind too-many-threads. */
static void put_thread_count(const struct page *p) {
    char text[64];
    int64_t count = value_int(json_object_get(p->report, "process"), "thread_count");
    if (!render_is_kind(p->report, "too-many-threads") || count <= 0) {
        return;
    }
    snprintf(text, sizeof text, "the process has too many threads: %" PRId64, count);
    render_wrapped(p, "", "  and  ", LABEL, text);
}

/* "killed by SIGINT (Ctrl-C) while it hung" */
static void put_end(const struct page *p) {
    static const char *const reasons[][2] = {{"SIGINT", " (Ctrl-C)"},
                                             {"SIGHUP", " (its terminal closed)"},
                                             {"SIGABRT", " (abort, or a watchdog)"},
                                             {"SIGKILL", " (kill -9, or out of memory)"}};
    const char *signal = value_text(json_object_get(p->report, "crash"), "signal"), *reason = "";
    char text[128];
    if (!render_is_kind(p->report, "fatal-hang")) {
        return;
    }
    for (size_t i = 0; signal != NULL && i < sizeof reasons / sizeof reasons[0]; i++) {
        reason = strcmp(signal, reasons[i][0]) == 0 ? reasons[i][1] : reason;
    }
    snprintf(text, sizeof text, "%s%s%s while it hung", signal != NULL ? "killed by " : "the process ended",
             signal != NULL ? signal : "", reason);
    render_wrapped(p, "", "  end  ", LABEL, text);
}

static void put_unsampled(const struct page *p) {
    struct stack_time t = report_coverage(p->report);
    bool outside = json_object_get(p->report, "watch") != NULL;
    const char *why = !t.is_exact              ? ", or in stacks that start elsewhere"
                      : t.no_answer && outside ? ": the kernel gave no sample of the thread"
                      : t.no_answer
                          ? ": the thread ran and did not answer; it may block the signal, handle it, "
                            "or be under a filter"
                          : "";
    char text[200];
    if (t.known >= STACK_TIME_ALL || render_is_kind(p->report, "crash")) {
        return;
    }
    snprintf(text, sizeof text, "%.0f%% not sampled%s", 100 * (1 - t.known), why);
    render_wrapped(p, "", "  note ", LABEL, text);
}

static void put_repeat(const struct page *p) {
    const char *of = value_text(p->report, "repeat_of");
    char *text = NULL;
    size_t bytes;
    FILE *out = of != NULL ? open_memstream(&text, &bytes) : NULL;
    if (out == NULL) {
        return;
    }
    fprintf(out, "repeat of %s", render_short_id(of));
    if (!p->options->not_kept) {
        fputs(", which has all: ", out);
        render_command(out, p, p->options->repeated, of, "");
    }
    if (fclose(out) == 0) {
        render_wrapped(p, "", "  note ", LABEL, text);
    }
    free(text);
}

/* Of a watch from outside: the watch may have begun in the hang, or not have seen the start. */
static void put_start(const struct page *p) {
    char duration[RENDER_DURATION_BYTES], text[80];
    int64_t earlier_ns = value_int(p->report, "start_uncertain_ns");
    if (json_is_true(json_object_get(p->report, "at_least"))) {
        render_wrapped(p, "", "  note ", LABEL, "it had begun already when the watch began");
    } else if (earlier_ns > 0) {
        snprintf(text, sizeof text, "up to %s longer: its start was not seen",
                 render_duration(duration, earlier_ns));
        render_wrapped(p, "", "  note ", LABEL, text);
    }
}

void render_remarks(const struct page *p) {
    char duration[RENDER_DURATION_BYTES], text[80];
    int64_t excluded_ns = value_int(p->report, "excluded_ns");
    int64_t background_ns = value_int(json_object_get(p->report, "loop"), "background_ns");
    put_thread_count(p);
    put_end(p);
    put_start(p);
    if (render_is_cpu(p->report)) {
        render_cpu_unsampled(p);
    } else {
        put_unsampled(p);
    }
    if (render_is_open(p->report)) {
        snprintf(text, sizeof text, "no end on record: %s still, killed, or disk full",
                 json_object_get(p->report, "pool") != NULL ? "stalled" : "frozen");
        render_wrapped(p, "", "  note ", LABEL, text);
    }
    if (excluded_ns > 0) {
        snprintf(text, sizeof text, "not counted: %s stopped", render_duration(duration, excluded_ns));
        render_wrapped(p, "", "  note ", LABEL, text);
    }
    bool whole =
        json_is_true(json_object_get(p->report, "complete")); /* else it has the time until it was written */
    if (background_ns > 0 && whole && !render_is_kind(p->report, "background-hang")) {
        snprintf(text, sizeof text, "%s of it in the background", render_duration(duration, background_ns));
        render_wrapped(p, "", "  note ", LABEL, text);
    }
    if (json_is_true(json_object_get(json_object_get(p->report, "process"), "debugger"))) {
        render_wrapped(p, "", "  note ", LABEL, "a debugger or tracer was attached");
    }
    put_repeat(p);
}
