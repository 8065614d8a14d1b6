/* SPDX-License-Identifier: MIT */
#include "cli/reporter/printer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/message.h"
#include "cli/base/shell_quote.h"
#include "cli/base/spool_folder.h"
#include "cli/reader/report_load.h"
#include "cli/render/render.h"
#include "cli/reporter/json_file.h"
#include "cli/reporter/pending_text.h"
#include "cli/reporter/report_lines.h"
#include "os/os.h"

#define COMMANDS_NS (5 * HD_NS_PER_S) /* for what --on-hang still has to run when the program has ended */

/* A hang that lasts has a line then; later one an hour. */
static const uint64_t steps_ns[] = {5 * HD_NS_PER_S, 30 * HD_NS_PER_S, 300 * HD_NS_PER_S};
#define STEPS (sizeof steps_ns / sizeof steps_ns[0])
/* A deferred report often becomes visible at the end of the hang. The first line waits this long. */
#define VISIBLE_LATE_NS (500 * HD_NS_PER_MS)
#define HOUR_NS (3600 * HD_NS_PER_S)

static void path_of(const char *spool, const char *id, char path[4096]) {
    snprintf(path, 4096, "%s/%s.json", spool_folder(spool), id);
}

/* NULL: it is gone, or no report of ours. With ENOMEM it may be one. */
static json_t *load(const char *spool, const char *id) {
    char path[4096];
    struct problem why;
    path_of(spool, id, path);
    errno = 0;
    return report_load(path, &why);
}

/* ---- a hang that lasts ------------------------------------------------------------------------ */

uint64_t printer_age(const struct printed_report *p, uint64_t now_ns) {
    return p->lasted_ns + (now_ns - p->seen_ns);
}

static uint64_t step_ns(unsigned step) {
    return step < STEPS ? steps_ns[step] : HOUR_NS * (step - STEPS + 1);
}

static void set_due(struct printed_report *p, uint64_t age_ns, uint64_t now) {
    uint64_t at_ns = step_ns(p->steps);
    bool late = now - p->first_ns < VISIBLE_LATE_NS && age_ns > at_ns + VISIBLE_LATE_NS;
    p->due_ns = now + (age_ns < at_ns ? at_ns - age_ns : late ? VISIBLE_LATE_NS : 0);
}

static void run_command(struct printer *r, struct printed_report *p) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.json", p->spool, p->id);
    if (!p->commanded) {
        p->commanded = true;
        on_hang_add(&r->commands, path); /* the command has no descriptor of ours, and gets the path */
    }
}

static void print_lasts(struct printer *r, struct printed_report *p, json_t *report, uint64_t age_ns) {
    char path[4096];
    size_t bytes;
    path_of(p->spool, p->id, path);
    json_decref(report_lines_name(r, report, path));
    char *text = report_lines_lasts(r, report, age_ns, &bytes);
    if (text != NULL) {
        pending_text_add(r, text, bytes);
    }
    free(text);
}

static void on_due(struct printer *r, struct printed_report *p, uint64_t now) {
    uint64_t age_ns = r->age(r->owner, p, now);
    if (age_ns < step_ns(p->steps)) { /* the program was stopped in between */
        set_due(p, age_ns, now);
        return;
    }
    json_t *report = load(p->spool, p->id);
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
static uint64_t handle_due(struct printer *r, uint64_t now) {
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

static void count_hang(struct printer *r, const json_t *report, const char *function, uint64_t now,
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
static void print_ended(struct printer *r, const char *spool, json_t *report, bool session) {
    char path[4096];
    size_t bytes = 0;
    struct hang_row *row = NULL;
    path_of(spool, report_text(report, "id"), path);
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

static void on_ended(struct printer *r, struct printed_report *p, json_t *report, bool session) {
    print_ended(r, p->spool, report, session);
    p->ended = true;
    p->due_ns = 0;
    r->shared->crash_reported |= json_object_get(report, "crash") != NULL;
    if (session) {
        atomic_store(&r->shared->session_printed, r->options->json && !r->options->quiet);
    } else {
        run_command(r, p);
    }
}

static void handle_report(struct printer *r, const char *spool, json_t *report, const char *id) {
    bool session = strcmp(report_text(report, "kind"), "session") == 0;
    if (!r->is_ours(r->owner, report) || (session && !r->options->json && r->options->json_fd < 0)) {
        return;
    }
    struct printed_report *p = printed_add(&r->shared->printed, id);
    p->spool = spool;
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
        set_due(p, r->age(r->owner, p, now), now);
    }
}

void printer_take(struct printer *r, const char *spool, const char *name) {
    char id[37];
    if (strlen(name) != 36 + 5 || strcmp(name + 36, ".json") != 0) {
        return;
    }
    snprintf(id, sizeof id, "%.36s", name);
    const struct printed_report *p = printed_find(&r->shared->printed, id);
    if (p != NULL && p->ended) {
        return;
    }
    json_t *report = load(spool, id);
    if (report != NULL) {
        handle_report(r, spool, report, id);
    } else if (errno == ENOMEM) {
        r->unread = true;
    }
    json_decref(report);
}

/* ---- waiting and the end ---------------------------------------------------------------------- */

uint64_t printer_earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

uint64_t printer_step(struct printer *r, uint64_t now_ns) {
    uint64_t next = handle_due(r, now_ns);
    return printer_earlier(next, pending_text_flush(r, now_ns));
}

static int child_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void printer_start(struct printer *r) {
    r->signal_fd = child_signals();
    r->colour = render_wants_colour(stderr);
    r->on_terminal = isatty(STDERR_FILENO) != 0;
    r->commands.command = r->options->on_hang;
    if (atomic_load(&r->shared->hurry)) {
        on_hang_stop(&r->commands); /* then only counts further reports */
    }
}

static int timeout_of(uint64_t next_ns) {
    uint64_t now = hd_os_now_ns();
    return next_ns == UINT64_MAX ? -1 : next_ns <= now ? 0 : (int)((next_ns - now) / HD_NS_PER_MS + 1);
}

void printer_wait(struct printer *r, struct pollfd *fds, size_t count, uint64_t next_ns) {
    struct signalfd_siginfo info;
    eventfd_t wakes;
    fds[0] = (struct pollfd){.fd = r->wake_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = r->signal_fd, .events = POLLIN};
    poll(fds, count, timeout_of(next_ns));
    (void)eventfd_read(r->wake_fd, &wakes);
    while (read(r->signal_fd, &info, sizeof info) == sizeof info) {
    }
    on_hang_reap(&r->commands);
}

/* The commands have some time left, unless a signal asks the command to end. */
static unsigned long finish_commands(struct printer *r) {
    struct pollfd fds[PRINTER_FDS];
    uint64_t until = hd_os_now_ns() + COMMANDS_NS;
    if (atomic_load(&r->shared->hurry)) {
        return on_hang_stop(&r->commands);
    }
    while (on_hang_busy(&r->commands) && hd_os_now_ns() < until && !atomic_load(&r->shared->hurry)) {
        printer_wait(r, fds, PRINTER_FDS, until);
    }
    return on_hang_stop(&r->commands);
}

/* A pool's stall that was open as the program ended has no other end. No record has its sum. */
static void end_open_stalls(struct printer *r) {
    for (unsigned i = 0; i < printed_count(&r->shared->printed); i++) {
        struct printed_report *p = &r->shared->printed.report[i];
        json_t *report = p->ended ? NULL : load(p->spool, p->id);
        if (report != NULL && json_object_get(report, "pool") != NULL) {
            r->open_stalls++;
            r->open_stall_ns += p->lasted_ns;
            on_ended(r, p, report, false);
        }
        json_decref(report);
    }
}

unsigned long printer_finish(struct printer *r) {
    end_open_stalls(r);
    r->unprinted += r->unread;
    unsigned long skipped = finish_commands(r);
    pending_text_print(r);
    return skipped;
}

void printer_print_skipped(const struct printer *r, unsigned long skipped) {
    char command[2048];
    if (skipped > 0) {
        print_error("--on-hang skipped %lu report%s: %s", skipped, cli_plural((int64_t)skipped, "", "s"),
                    atomic_load(&r->shared->hurry) ? "a signal came" : "5 s were over");
    }
    if (r->unprinted > 0) {
        snprintf(command, sizeof command, "%s list --no-symbols%s", shell_own_command(),
                 r->options->spool_words);
        print_error_try(command, "%u hang%s not shown: out of memory", r->unprinted,
                        cli_plural(r->unprinted, "", "s"));
    }
}
