/* SPDX-License-Identifier: MIT */
#include "cli/reporter/reporter.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/reader/report_load.h"
#include "cli/reporter/loop_line.h"
#include "cli/reporter/summary.h"
#include "cli/settle/record_mirror.h"
#include "os/os.h"
#include "record/uuid.h"

static bool is_of_this_run(void *reporter, const json_t *report) {
    const struct reporter *r = reporter;
    const char *session = report_text(json_object_get(report, "app"), "session");
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        char text[37];
        if (i == 0 || atomic_load(&r->records[i].owner.pid) != 0) {
            hd_uuid_text(r->records[i].options.session, text);
            if (strcmp(text, session) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* ---- a hang that lasts ------------------------------------------------------------------------ */

/* The age of an open hang. The record has the age of one open hang, without stops. For another one: the
 * report's duration plus the time since. 0 if the spool has refused a report: the hang may have ended without
 * a new report. */
static uint64_t age_of(void *reporter, const struct printed_report *p, uint64_t now) {
    const struct reporter *r = reporter;
    bool failed = false;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        struct hd_record *c = &r->records[i];
        failed |= atomic_load(&c->losses.spool_failures) != 0;
        uint32_t open =
            i == 0 || atomic_load(&c->owner.pid) != 0 ? atomic_load(&c->open.state) : HD_RECORD_NO_HANG;
        char id[37];
        hd_uuid_text(c->open.hang_id, id);
        if ((open == HD_RECORD_HANG_LASTS || open == HD_RECORD_HANG_ENDED) && strcmp(id, p->id) == 0) {
            return open == HD_RECORD_HANG_LASTS ? atomic_load(&c->open.duration_ns) : 0;
        }
    }
    return failed ? 0 : printer_age(p, now);
}

static void on_file(void *reporter, const char *name) {
    struct reporter *r = reporter;
    printer_take(&r->printer, r->options->decided->spool, name);
}

/* ---- the run ---------------------------------------------------------------------------------- */

/* While it is needed for the summary: no loop is seen, or a thread of --thread. */
static uint64_t sample_main_thread(struct reporter *r, uint64_t now) {
    const struct reporter_options *o = r->options;
    uint32_t all = (UINT32_C(1) << o->threads->count) - 1;
    bool threads = (atomic_load(&r->records->threads_seen) & all) != all;
    if (o->print.quiet || (atomic_load(&r->records->loop.certainty) != HD_RECORD_NO_LOOP && !threads)) {
        return UINT64_MAX;
    }
    return main_thread_sample(&r->shared->main_thread, o->pid, o->decided->started_ns, now, threads);
}

static uint64_t sample_children(struct reporter *r, uint64_t now) {
    const struct reporter_options *o = r->options;
    return o->print.quiet ? UINT64_MAX : child_samples_take(&r->shared->children, o->pid, o->program, now);
}

/* Checks each second whether the runner lives, if a seccomp filter may forbid the parent-death signal. */
static uint64_t watch_runner(const struct reporter *r, uint64_t now) {
    if (!r->options->print.no_signal) {
        return UINT64_MAX;
    }
    if (getppid() != r->printer.starter) {
        _exit(EXIT_FAILURE);
    }
    return now + HD_NS_PER_S;
}

static void follow(struct reporter *r) {
    struct pollfd fds[PRINTER_FDS + 1] = {[PRINTER_FDS] = {.fd = r->view.notify_fd, .events = POLLIN}};
    spool_view_read(&r->view); /* reports from before the watch, or of a first reporter that died */
    while (!atomic_load(&r->printer.shared->finish)) {
        spool_view_handle(&r->view);
        record_mirror_wake(r->mirror);
        uint64_t now = hd_os_now_ns(), next = spool_view_tick(&r->view, now);
        next = printer_earlier(next, printer_step(&r->printer, now));
        next = printer_earlier(next, sample_main_thread(r, now));
        next = printer_earlier(next, sample_children(r, now));
        next = printer_earlier(next, loop_line_print(r, now));
        next = printer_earlier(next, watch_runner(r, now));
        printer_wait(&r->printer, fds, PRINTER_FDS + 1, next);
    }
}

static void finish(struct reporter *r) {
    r->records = r->shared->record;
    if (atomic_load(&r->printer.shared->hurry)) {
        on_hang_stop(&r->printer.commands);
    }
    spool_view_read(&r->view);
    r->printer.unread |= r->view.unread;
    unsigned long skipped = printer_finish(&r->printer);
    if (!r->options->print.quiet) {
        summary_print(r, skipped);
    }
}

int reporter_prepare(struct reporter *r) {
    void *shared = mmap(NULL, sizeof *r->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *r = (struct reporter){.printer = {.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}};
    if (shared == MAP_FAILED || r->printer.wake_fd < 0) {
        return -errno;
    }
    r->shared = shared;
    r->printer.shared = &r->shared->print;
    return 0;
}

void reporter_run(void *reporter) {
    static struct take_reports taker; /* its thread has it */
    static struct record_mirror mirror;
    struct reporter *r = reporter;
    r->records = r->options->records;
    r->printer.owner = r;
    r->printer.is_ours = is_of_this_run;
    r->printer.age = age_of;
    printer_start(&r->printer);
    if (!atomic_load(&r->printer.shared->finish)) {
        take_reports_init(&taker, r->options->records, r->options->decided, &r->shared->taken);
        take_reports_start(&taker);
        record_mirror_start(&mirror, r->options->records, r->options->decided);
        r->mirror = &mirror;
    }
    spool_view_open(&r->view, r->options->decided, on_file, r);
    follow(r);
    finish(r);
}
