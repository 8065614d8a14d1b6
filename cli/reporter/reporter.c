/* SPDX-License-Identifier: MIT */
#include "cli/reporter/reporter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/spool_folder.h"
#include "cli/reader/report_load.h"
#include "cli/render/render.h"
#include "cli/reporter/json_file.h"
#include "cli/reporter/loop_line.h"
#include "cli/reporter/pending_text.h"
#include "cli/reporter/report_lines.h"
#include "cli/reporter/summary.h"
#include "cli/settle/record_mirror.h"
#include "os/os.h"
#include "record/uuid.h"

#define COMMANDS_NS (5 * HD_NS_PER_S) /* for what --on-hang still has to run when the program has ended */

/* A hang that lasts has a line then; later one an hour. */
static const uint64_t steps_ns[] = {5 * HD_NS_PER_S, 30 * HD_NS_PER_S, 300 * HD_NS_PER_S};
#define STEPS (sizeof steps_ns / sizeof steps_ns[0])
/* A deferred report often becomes visible at the end of the hang. The first line waits this long. */
#define VISIBLE_LATE_NS (500 * HD_NS_PER_MS)
#define HOUR_NS (3600 * HD_NS_PER_S)

static void path_of(const struct reporter *r, const char *id, char path[4096]) {
    snprintf(path, 4096, "%s/%s.json", spool_folder(r->options->decided->spool), id);
}

/* NULL: it is gone, or no report of ours. With ENOMEM it may be one. */
static json_t *load(const struct reporter *r, const char *id) {
    char path[4096];
    struct problem why;
    path_of(r, id, path);
    errno = 0;
    return report_load(path, &why);
}

static bool is_of_this_run(const struct reporter *r, const json_t *report) {
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
static uint64_t age_of(const struct reporter *r, const struct printed_report *p, uint64_t now) {
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
    return failed ? 0 : p->lasted_ns + (now - p->seen_ns);
}

static uint64_t step_ns(unsigned step) {
    return step < STEPS ? steps_ns[step] : HOUR_NS * (step - STEPS + 1);
}

static void set_due(struct printed_report *p, uint64_t age_ns, uint64_t now) {
    uint64_t at_ns = step_ns(p->steps);
    bool late = now - p->first_ns < VISIBLE_LATE_NS && age_ns > at_ns + VISIBLE_LATE_NS;
    p->due_ns = now + (age_ns < at_ns ? at_ns - age_ns : late ? VISIBLE_LATE_NS : 0);
}

static void run_command(struct reporter *r, struct printed_report *p) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.json", r->options->decided->spool, p->id);
    if (!p->commanded) {
        p->commanded = true;
        on_hang_add(&r->commands, path); /* the command has no descriptor of ours, and gets the path */
    }
}

static void print_lasts(struct reporter *r, struct printed_report *p, json_t *report, uint64_t age_ns) {
    char path[4096];
    size_t bytes;
    path_of(r, p->id, path);
    json_decref(report_lines_name(r, report, path));
    char *text = report_lines_lasts(r, report, age_ns, &bytes);
    if (text != NULL) {
        pending_text_add(r, text, bytes);
    }
    free(text);
}

static void on_due(struct reporter *r, struct printed_report *p, uint64_t now) {
    uint64_t age_ns = age_of(r, p, now);
    if (age_ns < step_ns(p->steps)) { /* the program was stopped in between */
        set_due(p, age_ns, now);
        return;
    }
    json_t *report = load(r, p->id);
    p->due_ns = 0;
    if (report != NULL && !json_is_true(json_object_get(report, "complete"))) {
        if (!r->options->quiet && !r->options->json) {
            print_lasts(r, p, report, age_ns);
        }
        run_command(r, p);
        while (step_ns(p->steps) <= age_ns) {
            p->steps++;
        }
        set_due(p, age_ns, now);
    }
    json_decref(report);
}

/* When the next one is due; UINT64_MAX: none is. */
static uint64_t handle_due(struct reporter *r, uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < printed_count(&r->shared->printed); i++) {
        struct printed_report *p = &r->shared->printed.report[i];
        if (p->due_ns != 0 && p->due_ns <= now) {
            on_due(r, p, now);
        }
        next = p->due_ns != 0 && p->due_ns < next ? p->due_ns : next;
    }
    return next;
}

/* ---- a report --------------------------------------------------------------------------------- */

static void count_hang(struct reporter *r, const json_t *report, const char *function, uint64_t now,
                       struct hang_row **row) {
    struct hang_seen hang = {
        .function = function,
        .cause = report_text(json_object_get(report, "cause"), "kind"),
        .id = report_text(report, "id"),
        .duration_ns = (uint64_t)json_integer_value(json_object_get(report, "duration_ns")),
        .now_ns = now,
    };
    *row = hang_table_add(&r->shared->table, &hang);
}

/* Ends the process where there is no memory for names: the next reporter does without. */
static void print_ended(struct reporter *r, json_t *report, bool session) {
    char path[4096];
    size_t bytes = 0;
    struct hang_row *row = NULL;
    path_of(r, report_text(report, "id"), path);
    json_t *notes = report_lines_name(r, report, path);
    char *function = session ? strdup("") : report_lines_function(report);
    if (function != NULL && !session) {
        count_hang(r, report, function, hd_os_now_ns(), &row);
    }
    bool repeat = row != NULL && row->count > 1 && json_object_get(report, "repeat_of") != NULL;
    bool silent = r->options->quiet || (session && !r->options->json) ||
                  (repeat && !r->options->json && !hang_row_is_due(row));
    char *text = silent ? strdup("") : report_lines_ended(r, report, notes, repeat ? row : NULL, &bytes);
    if (text == NULL && r->names) {
        _exit(EXIT_FAILURE);
    }
    if (text == NULL) {
        r->unprinted++;
    } else {
        pending_text_add(r, text, bytes);
    }
    json_file_add(r, report);
    free(function);
    free(text);
    json_decref(notes);
}

static void on_ended(struct reporter *r, struct printed_report *p, json_t *report, bool session) {
    print_ended(r, report, session);
    p->ended = true;
    p->due_ns = 0;
    r->shared->crash_reported |= json_object_get(report, "crash") != NULL;
    if (session) {
        atomic_store(&r->shared->session_printed, r->options->json && !r->options->quiet);
    } else {
        run_command(r, p);
    }
}

static void handle_report(struct reporter *r, json_t *report, const char *id) {
    bool session = strcmp(report_text(report, "kind"), "session") == 0;
    if (!is_of_this_run(r, report) || (session && !r->options->json && r->options->json_fd < 0)) {
        return;
    }
    struct printed_report *p = printed_add(&r->shared->printed, id);
    uint64_t now = hd_os_now_ns();
    uint64_t lasted_ns = (uint64_t)json_integer_value(json_object_get(report, "duration_ns"));
    p->first_ns = p->first_ns == 0 ? now : p->first_ns;
    if (p->seen_ns == 0 || lasted_ns != p->lasted_ns) {
        p->lasted_ns = lasted_ns;
        p->seen_ns = now;
    }
    if (json_is_true(json_object_get(report, "complete")) ||
        strcmp(report_text(report, "kind"), "fatal-hang") == 0) {
        on_ended(r, p, report, session);
    } else {
        set_due(p, age_of(r, p, now), now);
    }
}

static void on_file(void *reporter, const char *name) {
    struct reporter *r = reporter;
    char id[37];
    if (strlen(name) != 36 + 5 || strcmp(name + 36, ".json") != 0) {
        return;
    }
    snprintf(id, sizeof id, "%.36s", name);
    const struct printed_report *p = printed_find(&r->shared->printed, id);
    if (p != NULL && p->ended) {
        return;
    }
    json_t *report = load(r, id);
    if (report != NULL) {
        handle_report(r, report, id);
    } else if (errno == ENOMEM) {
        r->view.unread = true;
    }
    json_decref(report);
}

/* ---- the run ---------------------------------------------------------------------------------- */

static int timeout_of(uint64_t next_ns) {
    uint64_t now = hd_os_now_ns();
    return next_ns == UINT64_MAX ? -1 : next_ns <= now ? 0 : (int)((next_ns - now) / HD_NS_PER_MS + 1);
}

/* Waits until there may be more to do, at most until next_ns. */
static void wait_for_more(struct reporter *r, int signal_fd, uint64_t next_ns) {
    struct signalfd_siginfo info;
    eventfd_t count;
    struct pollfd fds[] = {{.fd = r->wake_fd, .events = POLLIN},
                           {.fd = signal_fd, .events = POLLIN},
                           {.fd = r->view.notify_fd, .events = POLLIN}};
    poll(fds, 3, timeout_of(next_ns));
    (void)eventfd_read(r->wake_fd, &count);
    while (read(signal_fd, &info, sizeof info) == sizeof info) {
    }
    on_hang_reap(&r->commands);
}

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* While it is needed for the summary: no loop is seen, or a thread of --thread. */
static uint64_t sample_main_thread(struct reporter *r, uint64_t now) {
    const struct reporter_options *o = r->options;
    uint32_t all = (UINT32_C(1) << o->threads->count) - 1;
    bool threads = (atomic_load(&r->records->threads_seen) & all) != all;
    if (o->quiet || (atomic_load(&r->records->loop.certainty) != HD_RECORD_NO_LOOP && !threads)) {
        return UINT64_MAX;
    }
    return main_thread_sample(&r->shared->main_thread, o->pid, o->decided->started_ns, now, threads);
}

static uint64_t sample_children(struct reporter *r, uint64_t now) {
    const struct reporter_options *o = r->options;
    return o->quiet ? UINT64_MAX : child_samples_take(&r->shared->children, o->pid, o->program, now);
}

/* Checks each second whether the runner lives, if a seccomp filter may forbid the parent-death signal. */
static uint64_t watch_runner(const struct reporter *r, uint64_t now) {
    if (r->options->decided->seccomp_filters >= 0) {
        return UINT64_MAX;
    }
    if (getppid() != r->runner) {
        _exit(EXIT_FAILURE);
    }
    return now + HD_NS_PER_S;
}

static void follow(struct reporter *r, int signal_fd) {
    spool_view_read(&r->view); /* reports from before the watch, or of a first reporter that died */
    while (!atomic_load(&r->shared->finish)) {
        spool_view_handle(&r->view);
        record_mirror_wake(r->mirror);
        uint64_t now = hd_os_now_ns(), next = spool_view_tick(&r->view, now);
        next = earlier(next, handle_due(r, now));
        next = earlier(next, pending_text_flush(r, now));
        next = earlier(next, sample_main_thread(r, now));
        next = earlier(next, sample_children(r, now));
        next = earlier(next, loop_line_print(r, now));
        next = earlier(next, watch_runner(r, now));
        wait_for_more(r, signal_fd, next);
    }
}

/* The commands have some time left, unless a signal asks the runner to end. */
static unsigned long finish_commands(struct reporter *r, int signal_fd) {
    uint64_t until = hd_os_now_ns() + COMMANDS_NS;
    if (atomic_load(&r->shared->hurry)) {
        return on_hang_stop(&r->commands);
    }
    while (on_hang_busy(&r->commands) && hd_os_now_ns() < until && !atomic_load(&r->shared->hurry)) {
        wait_for_more(r, signal_fd, until);
    }
    return on_hang_stop(&r->commands);
}

static int child_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A pool's stall that was open as the program ended has no other end. No record has its sum. */
static void end_open_stalls(struct reporter *r) {
    for (unsigned i = 0; i < printed_count(&r->shared->printed); i++) {
        struct printed_report *p = &r->shared->printed.report[i];
        json_t *report = p->ended ? NULL : load(r, p->id);
        if (report != NULL && json_object_get(report, "pool") != NULL) {
            r->open_stalls++;
            r->open_stall_ns += p->lasted_ns;
            on_ended(r, p, report, false);
        }
        json_decref(report);
    }
}

static void finish(struct reporter *r, int signal_fd) {
    r->records = r->shared->record;
    if (atomic_load(&r->shared->hurry)) {
        on_hang_stop(&r->commands);
    }
    spool_view_read(&r->view);
    end_open_stalls(r);
    r->unprinted += r->view.unread;
    unsigned long skipped = finish_commands(r, signal_fd);
    pending_text_print(r);
    if (!r->options->quiet) {
        summary_print(r, skipped);
    }
}

void reporter_run(struct reporter *r) {
    static struct take_reports taker; /* its thread has it */
    static struct record_mirror mirror;
    int signal_fd = child_signals();
    r->records = r->options->records;
    r->colour = render_wants_colour(stderr);
    r->on_terminal = isatty(STDERR_FILENO) != 0;
    r->commands.command = r->options->on_hang;
    if (!atomic_load(&r->shared->finish)) {
        take_reports_init(&taker, r->options->records, r->options->decided, &r->shared->taken);
        take_reports_start(&taker);
        record_mirror_start(&mirror, r->options->records, r->options->decided);
        r->mirror = &mirror;
    }
    if (atomic_load(&r->shared->hurry)) {
        on_hang_stop(&r->commands); /* then only counts further reports */
    }
    spool_view_open(&r->view, r->options->decided, on_file, r);
    follow(r, signal_fd);
    finish(r, signal_fd);
}
