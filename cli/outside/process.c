/* SPDX-License-Identifier: MIT */
#include "cli/outside/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cli/outside/followed.h"
#include "cli/outside/go_program.h"
#include "cli/outside/loops.h"
#include "cli/outside/origin.h"
#include "cli/outside/reads.h"
#include "cli/outside/recognise_stacks.h"
#include "cli/outside/report_settings.h"
#include "cli/outside/reporting.h"
#include "cli/outside/threads.h"
#include "cli/outside/turns.h"
#include "cli/settle/settle.h"
#include "loop/loop.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"
#include "record/uuid.h"

#define CHECK_NS (1 * HD_NS_PER_S)
#define RARE_NS (20 * HD_NS_PER_S)
#define LAUNCH_NS (3 * HD_NS_PER_S) /* as `run` has it */

static const struct live_command command = {"attach", "attach to"};

/* ---- its begin -------------------------------------------------------------------------------- */

static bool fill_options(struct outside_process *p) {
    const struct watcher_options *from = &p->watcher->options;
    struct hd_record_options *o = &p->shown.record->options;
    *o = from->settings;
    o->started_ns = p->added_ns;
    o->started_wall_ns = hd_os_wall_ns();
    o->pid = p->live.own_pid;
    hd_uuid_make(o->session, o->started_wall_ns);
    snprintf(o->hook, sizeof o->hook, "%s", p->watcher->way->name);
    snprintf(o->turns, sizeof o->turns, "%s", report_settings_turns(p->watcher->way));
    if (!o->app_named) {
        live_process_app(&p->live, o->app_name, sizeof o->app_name);
    }
    outside_origin(p->live.pid, !o->without_paths, &o->origin);
    p->shown.app = o->app_name;
    p->shown.spool = o->spool;
    return from->events.choose == NULL || from->events.choose(from->events.arg, &p->shown, o);
}

static bool take_record(struct outside_process *p) {
    struct watcher *w = p->watcher;
    if (w->records_used < w->options.records_count) {
        p->shown.record = &w->options.records[w->records_used++];
    } else {
        p->shown.record = calloc(1, sizeof *p->shown.record);
        p->own_record = p->shown.record != NULL;
    }
    return p->shown.record != NULL;
}

/* A number that is another one after an exec, by the kernel's own copy of the program's addresses. A look at
 * the program's file could wait for its disk. 0: unknown. */
static uint64_t program_of(const struct live_process *p) {
    char text[1024];
    long n = hd_proc_read(p->proc_fd, "auxv", text, sizeof text);
    return n > 0 ? hd_hash(HD_HASH_BEGIN, text, (size_t)n) : 0;
}

static int begin(struct outside_process *p, struct problem *why) {
    struct watcher *w = p->watcher;
    p->shown.pid = p->live.pid;
    p->shown.name = p->live.name;
    p->shown.uid = p->live.uid;
    p->added_ns = hd_os_now_ns();
    p->young = hd_os_wall_ns() < p->live.started_wall_ns + LAUNCH_NS;
    if (!take_record(p)) {
        error_set(why, "cannot attach to process %d: %s", p->live.pid, strerror(ENOMEM));
        return -ENOMEM;
    }
    struct hd_record *record = p->shown.record;
    record->magic = HD_RECORD_MAGIC;
    record->bytes = sizeof *record;
    if (!fill_options(p)) {
        error_set(why, "cannot attach to process %d: it is not wanted", p->live.pid);
        return -ECANCELED;
    }
    p->program = program_of(&p->live);
    atomic_store(&record->owner.pid, (uint32_t)p->live.pid);
    atomic_store(&record->status.attached, 2);
    atomic_store(&record->status.alive_ns, p->added_ns);
    atomic_store(&record->turns.foreground_since_ns, p->added_ns);
    p->next = w->processes;
    w->processes = p;
    w->count++;
    outside_threads_list(p);
    if (p->threads == NULL) {
        error_set(why, "cannot attach to process %d: its threads cannot be watched", p->live.pid);
        return -ESRCH;
    }
    return 0;
}

static void free_process(struct outside_process *p) {
    struct watcher *w = p->watcher;
    for (struct outside_process **at = &w->processes; *at != NULL; at = &(*at)->next) {
        if (*at == p) {
            *at = p->next;
            w->count--;
            break;
        }
    }
    while (p->threads != NULL) {
        outside_thread_remove(p->threads);
    }
    reporting_forget(p);
    outside_reads_no_more(w);
    outside_stacks_forget(w->stacks, &p->live);
    live_process_close(&p->live);
    if (p->own_record) {
        free(p->shown.record);
    }
    free(p);
}

int outside_process_add(struct watcher *w, pid_t pid, struct problem *why) {
    uint64_t begun_ns = hd_os_now_ns();
    struct outside_process *p = calloc(1, sizeof *p);
    if (p == NULL) {
        error_set(why, "cannot attach to process %d: %s", pid, strerror(ENOMEM));
        return -ENOMEM;
    }
    p->watcher = w;
    if (live_process_open(pid, &command, &p->live, why) != 0) {
        free(p);
        return -EACCES;
    }
    if (w->options.settings.loop[0] == '\0' && go_program_runs(&p->live, why)) {
        live_process_close(&p->live);
        free(p);
        return -ENOTSUP;
    }
    int rc = begin(p, why);
    p->shown.spent_ns = hd_os_now_ns() - begun_ns;
    if (rc != 0) {
        free_process(p);
    } else if (w->options.events.process_added != NULL) {
        w->options.events.process_added(w->options.events.arg, &p->shown);
    }
    return rc;
}

/* ---- its looks -------------------------------------------------------------------------------- */

static void end_threads(struct outside_process *p) {
    struct outside_thread *next;
    for (struct outside_thread *t = p->threads; t != NULL; t = next) {
        next = t->next;
        if (t->ended_ns != 0) {
            followed_end(t, t->ended_ns);
            reporting_settle(t);
            outside_thread_remove(t);
        }
    }
}

/* A thread without a loop is followed only if it is the main thread (followed_look). A certain loop rarely
 * changes, and a program may have thousands. */
uint64_t outside_process_look_at(struct outside_thread *t, uint64_t now_ns) {
    if (t->recogniser != NULL && (t->followed != NULL || now_ns >= t->loops_ns)) {
        bool done = loops_look(t, now_ns);
        uint64_t every_ns = t->certainty == HD_RECORD_LOOP_CERTAIN ? RARE_NS : CHECK_NS;
        t->loops_ns = done ? now_ns + every_ns : t->loops_ns;
    }
    bool may_hang = t->certainty != HD_RECORD_NO_LOOP || t->tid == t->process->live.pid;
    return may_hang ? followed_look(t, now_ns) : UINT64_MAX;
}

/* True: the thread has a loop, and the watcher need not look at it now: the hook finds its long turns. */
static bool is_quiet(const struct outside_thread *t, uint64_t now_ns) {
    return t->certainty != HD_RECORD_NO_LOOP && now_ns < t->loops_ns;
}

uint64_t outside_process_look(struct outside_process *p, uint64_t now_ns, bool all) {
    const bool many = outside_has_many(p->watcher);
    uint64_t next_ns = UINT64_MAX;
    bool has_ended = false;
    p->stopped =
        p->reporting != NULL && strchr("Tt", hd_proc_stat_read(p->live.proc_fd, "stat").state) != NULL;
    for (struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        has_ended |= t->ended_ns != 0;
        bool due = t->ended_ns == 0 && (t->followed != NULL || (all && !(many && is_quiet(t, now_ns))));
        uint64_t ns = due ? outside_process_look_at(t, now_ns) : UINT64_MAX;
        next_ns = ns < next_ns ? ns : next_ns;
    }
    p->thread_ended = false;
    if (has_ended) { /* the process may have, too */
        p->ended = !live_process_lives(&p->live);
        if (!p->ended) {
            end_threads(p);
        }
    }
    reporting_update(p);
    if (all) {
        reporting_close(p, false);
    }
    return next_ns;
}

static void sum_up(struct outside_process *p, uint64_t now_ns) {
    struct hd_record *record = p->shown.record;
    struct outside_turns turns = p->ended_turns;
    for (const struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        outside_turns_add(&turns, t, now_ns);
    }
    for (unsigned i = HD_TURN_BUCKETS; i < HD_TURN_HISTOGRAM; i++) {
        turns.histogram[HD_TURN_BUCKETS - 1] += turns.histogram[i];
    }
    for (unsigned i = 0; i < HD_TURN_BUCKETS; i++) {
        atomic_store(&record->turns.histogram[i], turns.histogram[i]);
    }
    atomic_store(&record->turns.busy_ns, turns.busy_ns);
    atomic_store(&record->turns.idle_ns, turns.idle_ns);
    atomic_store(&record->status.alive_ns, now_ns);
}

/* True: the process runs another program than at the begin of the watch. */
static bool runs_another(const struct outside_process *p) {
    uint64_t now = program_of(&p->live);
    return now != 0 && now != p->program;
}

void outside_process_check(struct outside_process *p, uint64_t now_ns) {
    outside_threads_list(p);
    p->ended = !live_process_lives(&p->live);
    p->replaced |= runs_another(p);
    if (!p->ended) {
        sum_up(p, now_ns);
    }
    reporting_close(p, false);
}

/* ---- its end ---------------------------------------------------------------------------------- */

void outside_process_end(struct outside_process *p, bool lives) {
    const struct watcher_events *events = &p->watcher->options.events;
    uint64_t ended_ns = 0;
    for (const struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        ended_ns = t->ended_ns > ended_ns ? t->ended_ns : ended_ns;
    }
    if (lives) {
        sum_up(p, hd_os_now_ns());
    }
    for (struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        reporting_settle(t);
    }
    reporting_close(p, true);
    p->shown.left = lives;
    if (p->shown.loops != 0 ||
        atomic_load(&p->shown.record->hangs.count) != 0) { /* most of a host have no loop */
        (void)settle_outside(p->shown.record, lives, ended_ns);
    }
    if (events->process_ended != NULL) {
        events->process_ended(events->arg, &p->shown);
    }
    free_process(p);
}
