/* SPDX-License-Identifier: MIT
 *
 * hangdog run: watches a program that was not built for it.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/program_find.h"
#include "cli/base/shell_quote.h"
#include "cli/base/signal_state.h"
#include "cli/commands.h"
#include "cli/outside/origin.h"
#include "cli/reporter/json_file.h"
#include "cli/reporter/reporter_process.h"
#include "cli/run/exec_mode.h"
#include "cli/run/preload_list.h"
#include "cli/run/preload_path.h"
#include "cli/run/program_check.h"
#include "cli/run/run_options.h"
#include "cli/run/run_spool.h"
#include "cli/run/run_unwatched.h"
#include "cli/run/runner.h"
#include "cli/run/seccomp_trial.h"
#include "cli/settle/orphans.h"
#include "cli/settle/previous_run.h"
#include "cli/settle/record_mirror.h"
#include "cli/settle/settle.h"
#include "cli/settle/survivors.h"
#include "cli/settle/take_reports.h"
#include "os/os.h"
#include "record/uuid.h"

/* A limit that was set for the program and is too low for us. */
static bool is_limit(int rc) {
    return rc == -EMFILE || rc == -ENFILE || rc == -EAGAIN || rc == -ENOMEM;
}

static uint32_t or_no_limit(long limit) {
    return limit != 0 ? (uint32_t)limit : UINT32_MAX;
}

static void fill_options(struct hd_record_options *to, const struct run_options *o, const char *spool) {
    to->threshold_ns = (uint64_t)o->threshold_ns;
    to->interval_ns = (uint64_t)o->interval_ns;
    to->launch_threshold_ns = (uint64_t)o->launch_ns;
    to->cpu_period_ns = (uint64_t)o->cpu_ns;
    to->frame_drop_ns = (uint64_t)o->frame_drop_ns;
    to->display_hz = (uint32_t)o->display_hz;
    to->seccomp_filters = seccomp_trial_filters();
    to->follow = o->follow;
    to->without_paths = o->without_paths;
    to->crash = o->crash;
    to->keep_alive = o->keep_alive;
    to->reports_per_day = or_no_limit(o->reports_per_day);
    to->reports_per_fingerprint = or_no_limit(o->reports_per_fingerprint);
    memcpy(to->app_name, o->app.name, sizeof to->app_name);
    memcpy(to->app_version, o->app.version, sizeof to->app_version);
    memcpy(to->environment, o->app.environment, sizeof to->environment);
    to->app_named = o->app.named;
    snprintf(to->spool, sizeof to->spool, "%s", spool);
    to->threads = (uint32_t)o->threads.count;
    for (size_t i = 0; i < o->threads.count; i++) {
        snprintf(to->thread[i], sizeof to->thread[i], "%s", o->threads.text[i]);
    }
    outside_origin(getpid(), !o->without_paths, &to->origin);
    snprintf(to->loop, sizeof to->loop, "%s", o->loop != NULL ? o->loop : "");
    hd_uuid_make(to->session, hd_os_wall_ns());
}

/* --exec: the program takes the place of this command. */
static int run_exec_mode(const struct run_options *o, const char *spool, const char *preload) {
    struct hd_record_options options = {0};
    struct exec_mode e;
    fill_options(&options, o, spool);
    int rc = exec_mode_prepare(&e, &options);
    if (rc != 0) {
        return run_unwatched_for(o, rc);
    }
    previous_forget(spool, o->name);
    return run_not_started(o, exec_mode_become(&e, o->program, preload));
}

static void settle_dead(const struct run_options *o, const char *spool) {
    int rc = settle_orphans(spool, o->quiet);
    if (rc != 0 && !o->quiet) {
        print_error("cannot finish a dead run's report in '%.500s': %s; the next run retries", spool,
                    strerror(-rc));
    }
}

/* `why` is printed: the spool that the user chose cannot be written. */
static bool use_spare_spool(const struct run_options *o, char *spool, size_t size,
                            const struct problem *why) {
    if (!run_spool_make_spare(spool, size)) {
        return false;
    }
    if (o->exec) {
        print_error("%s; this run's reports go to '%.200s'", why->text, spool);
    } else {
        print_error("%s; this run's reports are shown and not kept", why->text);
    }
    return true;
}

/* ---- a run with a runner ---------------------------------------------------------------------- */

struct watched {
    const struct run_options *options;
    struct runner runner;
    struct previous previous;
    struct take_reports taker;
    struct reporter_options reporter;
    const char *spare; /* the spool, if only this run uses the folder; else NULL */
};

static void choose_reporting(struct watched *w, const char *spool) {
    static char words[sizeof " --spool " + 16 * HD_RECORD_STRING];
    const struct run_options *o = w->options;
    if (o->spool != NULL) {
        quote_spool(words, sizeof words, spool);
    }
    w->reporter = (struct reporter_options){.print = {.on_hang = o->on_hang,
                                                      .spool_words = words,
                                                      .json = o->json != NULL && o->json[0] == '\0',
                                                      .quiet = o->quiet,
                                                      .not_kept = w->spare != NULL,
                                                      .no_signal = w->runner.decided.seccomp_filters < 0,
                                                      .json_file = o->json,
                                                      .json_fd = o->json_fd},
                                            .name = o->name,
                                            .loop = o->loop,
                                            .program = o->program,
                                            .pid = w->runner.run.child,
                                            .threads = &o->threads,
                                            .threshold_ns = o->threshold_ns,
                                            .follow = o->follow,
                                            .decided = &w->runner.decided,
                                            .records = w->runner.run.record};
}

/* 0, or the exit status of a program that did not start. */
static int start(struct watched *w, const char *spool, const char *preload) {
    const struct run_options *o = w->options;
    struct runner *r = &w->runner;
    char file[PATH_MAX];
    bool tried;
    int rc = runner_prepare(r);
    if (rc != 0) {
        return run_unwatched_for(o, rc);
    }
    fill_options(&r->run.record->options, o, spool);
    r->decided = r->run.record->options;
    bool found = program_find(program_named(o->program), file, sizeof file);
    previous_prepare(&w->previous, spool, o->name, found ? file : NULL);
    if ((rc = runner_start(r, o->program, preload, &tried)) != 0) {
        return tried ? run_not_started(o, rc) : run_unwatched_for(o, rc);
    }
    previous_begin(&w->previous);
    choose_reporting(w, spool);
    r->reports.options = &w->reporter;
    r->reports.printer.options = &w->reporter.print;
    reporter_start(&r->reporter, &r->reports.printer, reporter_run, &r->reports);
    return 0;
}

/* Turns the program's records into reports, and gives the reporter a copy of the records. */
static void settle(struct watched *w) {
    struct runner *r = &w->runner;
    struct reporter_shared *shared = r->reports.shared;
    take_reports_init(&w->taker, r->run.record, &r->decided, &shared->taken);
    take_reports_end(&w->taker);
    runner_stop_sharing(r);
    take_reports_count(&shared->taken, r->run.record);
    settle_run(&r->run, w->previous.end, &shared->dropped);
    record_mirror_remove(&r->decided);
    previous_note(&w->previous, &r->run, r->reporter.killed);
    shared->survivor =
        atomic_load(&r->run.record->status.attached) != 0 ? survivors_find(&r->run, r->reporter.pid) : 0;
    shared->end = r->run;
}

static int run_watched(const struct run_options *o, const char *spool, bool spare, const char *preload) {
    static struct watched w;
    w.options = o;
    w.spare = spare ? spool : NULL;
    int status = start(&w, spool, preload);
    if (status != 0) {
        return status;
    }
    struct runner *r = &w.runner;
    while (!r->ended) {
        poll(&(struct pollfd){.fd = r->signal_fd, .events = POLLIN}, 1, -1);
        runner_handle_signals(r);
    }
    settle(&w);
    runner_finish_reporter(r, &w.reporter);
    record_mirror_remove(&r->decided); /* a thread of the reporter may have been late */
    if (spare) {
        run_spool_remove_spare(spool);
    }
    runner_end_alike(r->run.status);
}

int cmd_run(int argc, char **argv) {
    struct run_options o;
    struct problem why;
    /* the stack may be small */
    static char spool[4 * HD_RECORD_STRING], own[PATH_MAX], preload[2 * PATH_MAX];
    int rc = 0;
    if (!run_options_parse(argc, argv, &o, &rc)) {
        return rc;
    }
    signal_state_save();
    if (!json_file_open(o.json, &o.json_fd, &why)) {
        error_print(&why);
        return EXIT_BEFORE_START;
    }
    const char *deadly = seccomp_deadly_call(o.exec);
    if (deadly != NULL) {
        error_set(&why, "its seccomp filter kills on %s", deadly);
        return run_unwatched(&o, &why);
    }
    if (!run_spool_path(&o, spool, sizeof spool, &why)) {
        error_print(&why);
        return EXIT_BEFORE_START;
    }
    rc = run_spool_check(spool, &why);
    if (is_limit(rc)) {
        return run_unwatched_for(&o, rc);
    }
    settle_dead(&o, spool);
    if (rc != 0 && !use_spare_spool(&o, spool, sizeof spool, &why)) {
        return run_unwatched(&o, &why);
    }
    if (!program_can_be_watched(o.program[0], &why) || !preload_path(own, sizeof own, &why)) {
        return run_unwatched(&o, &why);
    }
    preload_list(preload, sizeof preload, own, getenv("LD_PRELOAD"), program_named(o.program));
    if (o.exec) {
        return run_exec_mode(&o, spool, preload);
    }
    return run_watched(&o, spool, rc != 0, preload);
}
