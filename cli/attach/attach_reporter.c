/* SPDX-License-Identifier: MIT */
#include "cli/attach/attach_reporter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "cli/attach/attach_summary.h"
#include "cli/attach/process_files.h"
#include "cli/base/message.h"
#include "cli/base/shell_quote.h"
#include "cli/reader/report_load.h"
#include "cli/reporter/loop_line.h"
#include "cli/reporter/pending_text.h"
#include "cli/reporter/printer.h"
#include "cli/reporter/spool_view.h"
#include "os/os.h"

#define VIEWS_MAX 512    /* spools; hangs of later ones are in the spools only */
#define LOOP_LINES_MAX 8 /* of so many processes the line is not worth its space */
#define SAMPLED_MAX 16   /* processes whose main threads are sampled while no loop is known */
#define LOOK_NS (200 * HD_NS_PER_MS)
#define HINT_NS (5 * HD_NS_PER_S)

/* The spool of some of the processes. */
struct attach_view {
    struct printer *printer;
    struct spool_view view;
};

struct views {
    struct attach_view *view[VIEWS_MAX];
    size_t count;
    uint32_t entries; /* of the list that have a view */
};

int attach_reporter_prepare(struct attach_reporter *r, const struct attach_options *o) {
    static char words[sizeof " --spool " + 16 * HD_RECORD_STRING];
    void *list = mmap(NULL, sizeof *r->list, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (list == MAP_FAILED || wake_fd < 0) {
        return -errno;
    }
    if (o->run.spool != NULL) {
        quote_spool(words, sizeof words, o->run.spool);
    }
    *r = (struct attach_reporter){.options = o, .list = list};
    r->print = (struct printer_options){.on_hang = o->run.on_hang,
                                        .spool_words = words,
                                        .json = o->run.json != NULL && o->run.json[0] == '\0',
                                        .json_file = o->run.json,
                                        .json_fd = o->run.json_fd,
                                        .quiet = o->run.quiet,
                                        .to_stdout = true,
                                        .files = {process_files_begin, process_files_open, NULL}};
    r->printer = (struct printer){.options = &r->print, .shared = &r->list->print, .wake_fd = wake_fd};
    r->list->started_ns = hd_os_now_ns();
    return 0;
}

/* ---- spools ----------------------------------------------------------------------------------- */

static void on_file(void *ctx, const char *name) {
    struct attach_view *v = ctx;
    printer_take(v->printer, v->view.spool, name);
}

static bool has_view(const struct views *all, const char *spool) {
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->view[i]->view.spool, spool) == 0) {
            return true;
        }
    }
    return false;
}

/* Opens the spools of new processes. */
static void open_views(struct attach_reporter *r, struct views *all) {
    for (uint32_t n = atomic_load(&r->list->count); all->entries < n; all->entries++) {
        const struct watched_entry *e = &r->list->entry[all->entries];
        struct attach_view *v =
            all->count < VIEWS_MAX && !has_view(all, e->options.spool) ? malloc(sizeof *v) : NULL;
        if (v != NULL) {
            v->printer = &r->printer;
            spool_view_open(&v->view, &e->options, on_file, v);
            spool_view_read(&v->view); /* reports from before the view */
            all->view[all->count++] = v;
        }
    }
}

static uint64_t handle_views(struct views *all, uint64_t now_ns) {
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < all->count; i++) {
        spool_view_handle(&all->view[i]->view);
        next = printer_earlier(next, spool_view_tick(&all->view[i]->view, now_ns));
    }
    return next;
}

/* ---- lines about a process ------------------------------------------------------------------- */

static void add_line(struct attach_reporter *r, const char *colour, const char *text, const char *command) {
    size_t bytes;
    char *line = message_text(colour, &(struct message_part){text, command}, 1, &bytes);
    if (line != NULL) {
        pending_text_add(&r->printer, line, bytes);
    }
    free(line);
}

static void print_loop(struct attach_reporter *r, struct watched_entry *e) {
    struct loop_place place;
    e->loop_printed = true;
    loop_line_read(&r->printer, &place, e->pid, atomic_load(&e->call_pc), atomic_load(&e->caller_pc));
    loop_line_add(&r->printer, e->options.app_name, e->pid, &place);
}

/* No loop is seen for a while: the person may wait for a hang that lasts already. */
static void print_hint(struct attach_reporter *r, struct watched_entry *e) {
    char text[1024], reason[512], command[64];
    e->hint_printed = true;
    attach_summary_reason(reason, sizeof reason, e);
    snprintf(text, sizeof text,
             "no event loop of %.100s[%d] so far: %s; all stacks now:", e->options.app_name, (int)e->pid,
             reason);
    snprintf(command, sizeof command, "%s dump %d", shell_own_command(), (int)e->pid);
    add_line(r, MESSAGE_DIM, text, command);
}

static uint64_t step_entry(struct attach_reporter *r, struct watched_entry *e, bool lines, uint64_t now_ns) {
    bool loop = atomic_load(&e->certainty) >= HD_RECORD_LOOP_LIKELY;
    if (atomic_load(&e->ended_ns) != 0) {
        return UINT64_MAX;
    }
    if (atomic_load(&e->noted) && !e->note_printed) {
        char text[WATCHED_NOTE_BYTES + 192];
        e->note_printed = true;
        snprintf(text, sizeof text, "%.100s[%d]: %s", e->options.app_name, (int)e->pid, e->note);
        add_line(r, MESSAGE_WARNING, text, NULL);
    }
    if (loop) {
        if (!e->loop_printed && lines && r->printer.on_terminal) {
            print_loop(r, e);
        }
        return UINT64_MAX;
    }
    uint64_t next = main_thread_sample(&e->main_thread, e->pid, e->since_ns, now_ns, false);
    bool only = atomic_load(&r->list->count) == 1;
    if (only && lines && r->printer.on_terminal && !e->note_printed && !e->hint_printed &&
        now_ns - e->since_ns >= HINT_NS) {
        print_hint(r, e);
    }
    return printer_earlier(next, now_ns + LOOK_NS);
}

/* The first few: of many processes the summary has a count. */
static uint64_t step_entries(struct attach_reporter *r, uint64_t now_ns) {
    uint32_t count = atomic_load(&r->list->count);
    bool lines = count <= LOOP_LINES_MAX && !r->print.json;
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < count && i < SAMPLED_MAX && !r->print.quiet; i++) {
        next = printer_earlier(next, step_entry(r, &r->list->entry[i], lines, now_ns));
    }
    return next;
}

/* ---- the watch -------------------------------------------------------------------------------- */

static bool is_ours(void *reporter, const json_t *report) {
    const struct attach_reporter *r = reporter;
    return watched_list_has_session(r->list, report_text(json_object_get(report, "app"), "session"));
}

static uint64_t age_of(void *reporter, const struct printed_report *p, uint64_t now_ns) {
    (void)reporter;
    return printer_age(p, now_ns);
}

static void follow(struct attach_reporter *r, struct views *all) {
    static struct pollfd fds[PRINTER_FDS + VIEWS_MAX];
    while (!atomic_load(&r->printer.shared->finish)) {
        open_views(r, all);
        uint64_t now = hd_os_now_ns(), next = handle_views(all, now);
        next = printer_earlier(next, printer_step(&r->printer, now));
        next = printer_earlier(next, step_entries(r, now));
        for (size_t i = 0; i < all->count; i++) {
            fds[PRINTER_FDS + i] = (struct pollfd){.fd = all->view[i]->view.notify_fd, .events = POLLIN};
        }
        printer_wait(&r->printer, fds, PRINTER_FDS + all->count, next);
    }
}

void attach_reporter_run(void *reporter) {
    static struct views all;
    struct attach_reporter *r = reporter;
    r->printer.owner = r;
    r->printer.is_ours = is_ours;
    r->printer.age = age_of;
    printer_start(&r->printer);
    follow(r, &all);
    open_views(r, &all);
    for (size_t i = 0; i < all.count; i++) {
        spool_view_read(&all.view[i]->view);
        r->printer.unread |= all.view[i]->view.unread;
    }
    unsigned long skipped = printer_finish(&r->printer);
    if (!r->print.quiet) {
        printer_print_skipped(&r->printer, skipped);
        attach_summary_print(&(struct attach_result){&r->printer, r->list, r->options->run.threshold_ns});
    }
}
