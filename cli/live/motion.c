/* SPDX-License-Identifier: MIT */
#include "cli/live/motion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_text.h"
#include "cli/reader/own_frame.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_text.h"

struct motion_thread {
    int tid;
    struct hd_sched sched;
    struct hd_proc_status status;
    char function[128]; /* empty: not known */
};

static void take_one(struct motion_thread *m, int proc_fd, const json_t *report, const json_t *thread) {
    char text[4096];
    const json_t *frames = json_object_get(json_object_get(thread, "stack"), "frames");
    const char *function = json_text_or_null(report_own_frame_of(report, frames), "function");
    m->tid = (int)json_integer_value(json_object_get(thread, "tid"));
    snprintf(m->function, sizeof m->function, "%s", function != NULL ? function : "");
    long n = hd_proc_read_task(proc_fd, m->tid, "schedstat", text, sizeof text);
    bool known = n > 0 && hd_proc_parse_schedstat(text, (size_t)n, &m->sched);
    n = hd_proc_read_task(proc_fd, m->tid, "status", text, sizeof text);
    if (!known || n <= 0 || !hd_proc_parse_status(text, (size_t)n, &m->status)) {
        m->tid = 0;
    }
}

void motion_take(struct motion *m, int proc_fd, const json_t *report) {
    const json_t *threads = json_object_get(report, "threads");
    *m = (struct motion){.thread = calloc(json_array_size(threads) + 1, sizeof *m->thread)};
    for (size_t i = 0; m->thread != NULL && i < json_array_size(threads); i++) {
        take_one(&m->thread[m->count++], proc_fd, report, json_array_get(threads, i));
    }
}

static const char *word(const struct motion_thread *a, const struct motion_thread *b) {
    if (a->sched.slices == b->sched.slices && a->sched.cpu_ns == b->sched.cpu_ns) {
        return "parked";
    }
    bool same = a->function[0] != '\0' && strcmp(a->function, b->function) == 0;
    return same && a->status.voluntary == b->status.voluntary ? "spinning" : "moving";
}

void motion_add(const struct motion *before, const struct motion *now, json_t *report) {
    json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < now->count; i++) {
        for (size_t k = 0; k < before->count && now->thread[i].tid != 0; k++) {
            if (before->thread[k].tid == now->thread[i].tid) {
                json_object_set_new(json_array_get(threads, i), "motion",
                                    json_string(word(&before->thread[k], &now->thread[i])));
                break;
            }
        }
    }
}

void motion_free(struct motion *m) {
    free(m->thread);
    *m = (struct motion){0};
}
