/* SPDX-License-Identifier: MIT */
#include "cli/outside/reporting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cause/pressure.h"
#include "cli/live/module_tables.h"
#include "cli/outside/numbers.h"
#include "cli/outside/reads.h"
#include "cli/outside/recognise.h"
#include "cli/outside/report_settings.h"
#include "os/thread_list.h"
#include "publish/publish.h"
#include "publish/spool_failure.h"
#include "recognise/known_functions.h"
#include "worker/hang.h"
#include "worker/state.h"
#include "worker/worker.h"

#define IDLE_NS (30 * HD_NS_PER_S) /* a worker without work is freed after this time */

/* These values outlive the worker. */
struct outside_kept {
    struct hd_caps caps;
    struct hd_repeat before;
};

struct outside_reporting {
    struct hd_run *run;
    struct hd_worker *worker;
    struct module_map map;
    uint64_t event;   /* the number of the newest event that the callbacks got */
    uint64_t used_ns; /* when the worker last got a message */
};

/* ---- the recogniser --------------------------------------------------------------------------- */

static void blocked(void *ctx, const struct hd_loop *loop, struct hd_blocked *how) {
    const struct outside_process *p = ctx;
    pid_t tid = hd_thread_id_tid(hd_loop_thread(loop));
    for (const struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        if (t->tid == tid && t->recogniser != NULL) {
            outside_blocked(t->recogniser, how);
        }
    }
}

/* ---- the run ---------------------------------------------------------------------------------- */

static void fill_run(struct outside_process *p, struct hd_run *run) {
    report_settings_fill(p, &run->settings);
    run->ports.recogniser.blocked = blocked;
    run->ports.recogniser.ctx = p;
    run->record = p->shown.record;
    run->clock.ns_per_tick_32 = UINT64_C(1) << 32; /* ticks are nanoseconds of CLOCK_MONOTONIC */
    atomic_store(&run->alive, 1);
}

/* ---- the worker ------------------------------------------------------------------------------- */

static void begin_modules(struct outside_process *p) {
    struct hd_stacks *stacks = &p->reporting->worker->stacks;
    module_tables_begin(&p->reporting->map, &stacks->modules);
    hd_unwinder_init(stacks->unwinder, &stacks->modules);
    hd_scripts_init(&stacks->scripts, &stacks->modules);
}

static void open_probe(struct outside_process *p) {
    struct hd_worker *worker = p->reporting->worker;
    worker->own_thread = hd_thread_id_self();
    worker->probe =
        (struct hd_probe_context){.proc_fd = p->live.proc_fd, .mem_fd = p->live.mem_fd, .pid = p->live.pid};
    if (p->live.own_pid != p->live.pid) {
        worker->probe.thread_called = numbers_called;
        worker->probe.thread_arg = p;
        worker->stacks.numbers = (struct hd_thread_numbers){numbers_own, numbers_called, p};
    }
    hd_probe_context_init_other(&worker->probe, &worker->stacks.modules, worker->own_thread,
                                module_map_libc(&p->reporting->map));
    hd_pressure_init(&worker->probe);
}

static void fill_program(const struct outside_process *p) {
    struct hd_worker *worker = p->reporting->worker;
    struct hd_program_facts *facts = &worker->program;
    snprintf(facts->executable, sizeof facts->executable, "%s", p->live.executable);
    hd_host_fill_named(facts, worker->run, p->live.proc_fd, &worker->stacks.modules);
    facts->app.pid = p->live.pid;
    facts->app.started_wall_ns = p->live.started_wall_ns;
}

static void open_spool(const struct outside_process *p) {
    struct hd_publisher *publisher = &p->reporting->worker->publisher;
    int rc = hd_spool_open(&publisher->spool, publisher->run->settings.spool);
    publisher->spool.max_reports = HD_SPOOL_REPORTS;
    publisher->marker_fd = -1;
    if (rc != 0) {
        hd_spool_failure_store(publisher->run, rc);
    }
    if (p->kept != NULL) {
        publisher->caps = p->kept->caps;
        publisher->before = p->kept->before;
    }
}

static int open_worker(struct outside_process *p) {
    struct outside_reporting *r = p->reporting;
    r->run = hd_os_memory_take(sizeof *r->run);
    r->worker = hd_os_memory_take(hd_worker_bytes());
    if (r->run == NULL || r->worker == NULL) {
        return -ENOMEM;
    }
    int rc = module_map_read(&r->map, &p->live);
    if (rc != 0) {
        return rc;
    }
    fill_run(p, r->run);
    hd_worker_give_run(r->worker, r->run);
    hd_worker_connect(r->worker);
    begin_modules(p);
    hd_turns_init(&r->worker->turns);
    open_probe(p);
    fill_program(p);
    open_spool(p);
    return 0;
}

static void close_worker(struct outside_process *p) {
    struct outside_reporting *r = p->reporting;
    if (r->worker != NULL && r->worker->run != NULL) {
        struct hd_probe_context *probe = &r->worker->probe;
        hd_spool_close(&r->worker->publisher.spool);
        hd_os_close(probe->throttled_fd);
        for (unsigned i = 0; i < HD_PRESSURES; i++) {
            hd_os_close(probe->pressure_fd[i]);
        }
        hd_os_close(probe->memory_used_fd);
        hd_os_close(probe->memory_limit_fd);
    }
    module_map_free(&r->map);
    hd_os_memory_give(r->worker, hd_worker_bytes());
    if (r->run != NULL) {
        hd_watch_give_blocks(&r->run->watches);
        hd_os_memory_give(r->run, sizeof *r->run);
    }
    free(r);
    p->reporting = NULL;
    for (struct outside_thread *t = p->threads; t != NULL; t = t->next) {
        t->slot = 0;
    }
}

int reporting_open(struct outside_process *p) {
    if (p->reporting != NULL) {
        return 0;
    }
    p->reporting = calloc(1, sizeof *p->reporting);
    if (p->reporting == NULL) {
        return -ENOMEM;
    }
    int rc = outside_reads(p);
    rc = rc == 0 ? open_worker(p) : rc;
    if (rc != 0) {
        close_worker(p);
    }
    return rc;
}

bool reporting_has_turn(const struct outside_process *p) {
    return p->reporting != NULL && !hd_turns_is_empty(&p->reporting->worker->turns);
}

/* A followed thread has its watch here, also if the worker had no room for its turn. */
static bool is_idle(const struct outside_process *p) {
    const struct outside_reporting *r = p->reporting;
    return p->followed == 0 && hd_turns_is_empty(&r->worker->turns) &&
           r->worker->publisher.deferred.count == 0 && hd_os_now_ns() - r->used_ns > IDLE_NS;
}

void reporting_close(struct outside_process *p, bool at_once) {
    struct outside_reporting *r = p->reporting;
    if (r == NULL || (!at_once && !is_idle(p))) {
        return;
    }
    p->kept = p->kept != NULL ? p->kept : calloc(1, sizeof *p->kept);
    if (p->kept != NULL) {
        p->kept->caps = r->worker->publisher.caps;
        p->kept->before = r->worker->publisher.before;
    }
    close_worker(p);
}

void reporting_forget(struct outside_process *p) {
    if (p->reporting != NULL) {
        close_worker(p);
    }
    free(p->kept);
    p->kept = NULL;
}

/* Reads the list of the process's modules anew. A module that the list has now and had before keeps its
 * number, so the frames of a turn stay valid. */
static void refresh_modules(struct outside_process *p) {
    struct outside_reporting *r = p->reporting;
    struct module_map map;
    if (module_map_read(&map, &p->live) != 0 || module_map_has_files_of(&map, &r->map)) {
        module_map_free(&map);
        return;
    }
    module_map_free(&r->map);
    r->map = map;
}

/* ---- watches ---------------------------------------------------------------------------------- */

static void name_loop(const struct outside_thread *t, struct hd_watch *w) {
    if (t->tid == t->process->live.pid) {
        snprintf(w->name, sizeof w->name, "main");
    } else {
        hd_thread_name(t->process->live.proc_fd, hd_thread_id_of((uint64_t)t->tid), w->name, 16);
    }
}

static void store_certainty(const struct outside_thread *t, struct hd_watch *w) {
    atomic_store(&w->loop.found.certain, t->certainty == HD_RECORD_LOOP_CERTAIN);
    atomic_store(&w->loop.found.has_evidence, t->has_evidence);
}

struct hd_watch *reporting_watch(struct outside_thread *t) {
    struct hd_run *run = t->process->reporting->run;
    if (t->slot == 0) {
        struct hd_watch *w = hd_watch_claim(&run->watches);
        if (w == NULL) {
            return NULL;
        }
        t->slot = (uint16_t)(w->index + 1);
        hd_loop_init(&w->loop, &run->channel.wake, hd_thread_id_of((uint64_t)t->tid), false,
                     UINT64_C(1) << 32, 0, true);
        w->generation++;
        name_loop(t, w);
        store_certainty(t, w);
        atomic_store(&w->use, HD_WATCH_ON);
    }
    return hd_watch_at(&run->watches, t->slot - 1u);
}

void reporting_leave(struct outside_thread *t) {
    if (t->process->reporting != NULL && t->slot != 0) {
        atomic_store(&reporting_watch(t)->use, HD_WATCH_FREE);
        t->slot = 0;
    }
}

/* ---- events ----------------------------------------------------------------------------------- */

static void call_back(const struct outside_process *p, const hangdog_event *e) {
    const struct watcher_events *events = &p->watcher->options.events;
    const struct watched_hang h = {.tid = e->tid,
                                   .loop = e->loop,
                                   .report = e->report,
                                   .start_ns = e->start_ns,
                                   .duration_ns = e->duration_ns,
                                   .threshold_ns = e->threshold_ns,
                                   .suppressed = e->suppressed};
    void (*to)(void *, const struct watched_process *, const struct watched_hang *) =
        e->type == HANGDOG_EVENT_START       ? events->hang_open
        : e->type == HANGDOG_EVENT_END       ? events->hang_end
        : e->type == HANGDOG_EVENT_WITHDRAWN ? events->hang_withdrawn
                                             : NULL;
    if (to != NULL) {
        to(events->arg, &p->shown, &h);
    }
}

static void call_back_all(const struct outside_process *p) {
    hangdog_event e = {.number = p->reporting->event};
    while (hd_events_read(&p->reporting->run->channel.events, &e)) {
        p->reporting->event = e.number;
        call_back(p, &e);
    }
}

/* ---- messages --------------------------------------------------------------------------------- */

void reporting_begin(const struct outside_thread *t, struct reporting_message *m) {
    const struct outside_reporting *r = t->process->reporting;
    const struct hd_watch *w = hd_watch_at(&r->run->watches, t->slot - 1u);
    m->head = (struct hd_message){.loop = w->index,
                                  .generation = w->generation,
                                  .thread = hd_thread_id_of((uint64_t)t->tid),
                                  .state = HANGDOG_STATE_FOREGROUND,
                                  .activity = HANGDOG_AFTER_WAITING,
                                  .process_cpu_ns = hd_host_process_cpu_ns(&r->worker->probe),
                                  .cost = {.cpu_ns = 0}};
}

bool reporting_send(struct outside_process *p, const struct reporting_message *m) {
    if (outside_reads(p) != 0) {
        return false;
    }
    if (m->head.type == HD_MSG_TRACK) {
        refresh_modules(p);
    }
    p->reporting->used_ns = hd_os_now_ns();
    (void)hd_worker_handle(p->reporting->worker, &m->head);
    call_back_all(p);
    return hd_turns_find(&p->reporting->worker->turns, m->head.loop, m->head.generation) != NULL;
}

void reporting_update(struct outside_process *p) {
    if (p->reporting != NULL && outside_reads(p) == 0) {
        hd_hang_update_all(p->reporting->worker);
        call_back_all(p);
    }
}

void reporting_duration(const struct outside_thread *t, uint64_t start_ns, uint64_t excluded_ns,
                        uint64_t duration_ns) {
    const struct outside_process *p = t->process;
    const struct hd_channel *channel = &p->reporting->run->channel;
    struct hd_record *record = p->shown.record;
    if (atomic_load(&channel->open_loop) + 1 == t->slot && atomic_load(&channel->open_start_ns) == start_ns) {
        atomic_store(&record->open.since_ns, start_ns + excluded_ns);
        atomic_store(&record->open.duration_ns, duration_ns);
        atomic_store(&record->status.alive_ns, start_ns + excluded_ns + duration_ns);
    }
}

void reporting_find_loop(struct outside_thread *t, const struct hd_capture *c) {
    struct outside_process *p = t->process;
    struct hd_stacks *stacks = &p->reporting->worker->stacks;
    struct hd_functions known = {.count = 0};
    struct hd_walk walk;
    hd_stacks_unwind(stacks, c, &walk);
    if (!t->has_evidence && outside_reads(p) == 0 &&
        hd_known_loop_encloses(&known, &stacks->modules, stacks->frames, walk.count)) {
        t->has_evidence = true;
        store_certainty(t, hd_watch_at(&p->reporting->run->watches, t->slot - 1u));
        atomic_store(&p->shown.record->loop.certainty, HD_RECORD_LOOP_LIKELY);
    }
}

void reporting_certainty(struct outside_thread *t) {
    struct outside_process *p = t->process;
    if (p->reporting == NULL || t->slot == 0) {
        return;
    }
    struct hd_watch *w = hd_watch_at(&p->reporting->run->watches, t->slot - 1u);
    bool was = atomic_load(&w->loop.found.certain);
    store_certainty(t, w);
    if (!was && t->certainty == HD_RECORD_LOOP_CERTAIN) {
        hd_publish_certain(&p->reporting->worker->publisher, w->index, w->generation);
    }
}

void reporting_void(struct outside_thread *t) {
    struct outside_process *p = t->process;
    if (p->reporting != NULL && t->slot != 0) {
        const struct hd_watch *w = hd_watch_at(&p->reporting->run->watches, t->slot - 1u);
        hd_publish_void(&p->reporting->worker->publisher, w->index, w->generation);
    }
}

void reporting_settle(struct outside_thread *t) {
    struct outside_process *p = t->process;
    if (p->reporting == NULL || t->slot == 0 || t->certainty >= HD_RECORD_LOOP_LIKELY || t->has_evidence) {
        return;
    }
    struct hd_worker *worker = p->reporting->worker;
    const struct hd_watch *w = hd_watch_at(&p->reporting->run->watches, t->slot - 1u);
    struct hd_turn *turn = hd_turns_find(&worker->turns, w->index, w->generation);
    if (turn != NULL && turn->report.opened) {
        hd_publish_withdraw(&worker->publisher, turn);
    }
    if (turn != NULL) {
        hd_turn_free(turn);
    }
    hd_publish_void(&worker->publisher, w->index, w->generation);
    call_back_all(p);
}
