/* SPDX-License-Identifier: MIT
 *
 * Each function in this file fills one group of a report's members. On the worker thread.
 */
#include "publish/describe.h"

#include <string.h>

#include "cause/deadlock.h"
#include "turn/samples.h"

#define THREADS_MANY 64
/* over a shorter time, CPU use in percent is too inexact for a report */
#define CPU_SPAN_NS (50 * HD_NS_PER_MS)

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t growth(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

/* ---- of the run ------------------------------------------------------------------------------- */

void hd_describe_run(const struct hd_publisher *p, enum hd_report_kind kind, struct hd_report *r) {
    memset(r, 0, sizeof *r);
    r->kind = kind;
    r->complete = true;
    r->app = p->app;
    r->host = p->host;
    r->cpu_percent = -1;
    r->without_paths = p->run->settings.without_paths;
    r->hook = p->run->settings.hook;
    r->turns = p->run->settings.turns;
    r->modules = p->code.modules;
    r->scripts = p->code.scripts;
}

void hd_describe_threads(const struct hd_facts *facts, struct hd_report *r) {
    r->threads = facts->threads;
    r->thread_records = facts->thread_count;
    r->threads_left_out = facts->threads_left_out;
    r->thread_frames = facts->thread_frames;
}

void hd_describe_process(const struct hd_facts *facts, struct hd_report *r) {
    r->rss_bytes = facts->rss_bytes;
    r->debugger = facts->debugger;
    r->system = facts->system;
}

/* ---- of the turn ------------------------------------------------------------------------------ */

static enum hd_report_kind kind_of(const struct hd_turn *turn) {
    if (turn->pool != NULL) {
        return HD_REPORT_POOL_STALL;
    }
    if (turn->threads.count > THREADS_MANY) {
        return HD_REPORT_TOO_MANY_THREADS;
    }
    if (turn->state == HANGDOG_STATE_LAUNCH) {
        return HD_REPORT_LAUNCH;
    }
    return turn->state == HANGDOG_STATE_BACKGROUND ? HD_REPORT_BACKGROUND_HANG : HD_REPORT_HANG;
}

/* Returns the CPU use of the process since tracking of the turn started, in percent of one CPU. -1: not
 * known. */
static double process_percent(const struct hd_turn *turn) {
    const struct hd_turn_times *times = &turn->times;
    uint64_t cpu_ns = times->process_cpu_ns - turn->before.process_cpu_ns;
    bool known = times->process_cpu_ns != 0 && times->duration_ns >= turn->before.age_ns + CPU_SPAN_NS;
    return known ? 100 * (double)cpu_ns / (double)(times->duration_ns - turn->before.age_ns) : -1;
}

/* Returns how long the program was in the background during the hang. */
static uint64_t background_of(const struct hd_run *run, const struct hd_turn *turn) {
    uint64_t until_ns = turn->times.start_ns + turn->times.duration_ns + turn->times.excluded_ns;
    uint64_t spent_ns = hd_background_until(&run->channel.program.background, until_ns);
    return least(growth(turn->before.background_ns, spent_ns), turn->times.duration_ns);
}

static void describe_turn(const struct hd_run *run, const struct hd_turn *turn, struct hd_report *r) {
    memcpy(r->id, turn->report.id, sizeof r->id);
    r->started_wall_ns = turn->times.start_wall_ns;
    r->started_ns = turn->times.start_ns;
    r->duration_ns = turn->times.duration_ns;
    r->excluded_ns = turn->times.excluded_ns;
    r->threshold_ns = turn->times.threshold_ns;
    r->start_uncertain_ns = turn->times.earlier_ns;
    r->at_least = turn->times.at_least;
    r->cpu_percent = process_percent(turn);
    r->label = turn->label.text.label;
    r->traceparent = turn->label.text.traceparent;
    r->task = &turn->task;
    r->loop_name = turn->loop.name;
    r->loop_thread = turn->loop.thread;
    r->loop_activity = hd_words_activity(turn->activity <= HANGDOG_EXIT ? turn->activity : HANGDOG_EXIT);
    r->loop_state = hd_words_state(turn->state < HANGDOG_STATES ? turn->state : HANGDOG_STATE_FOREGROUND);
    r->loop_scheme = turn->loop.scheme;
    r->background_ns = turn->pool == NULL ? background_of(run, turn) : 0;
    r->pool = turn->pool;
}

static void describe_cost(const struct hd_turn *turn, const struct hd_facts *facts,
                          struct hd_monitor_cost *cost) {
    const struct hd_capture_cost *now = &turn->cost.captures, *before = &turn->before.captures;
    memset(cost, 0, sizeof *cost);
    cost->samples = now->samples - before->samples;
    cost->interrupted_syscalls = now->interrupted_syscalls - before->interrupted_syscalls;
    cost->restarted_syscalls = now->restarted_syscalls - before->restarted_syscalls;
    cost->pause_max_ns = now->pause_max_ns;
    cost->pause_total_ns = now->pause_total_ns - before->pause_total_ns;
    cost->cpu_ns = turn->cost.monitor_cpu_ns - turn->before.monitor_cpu_ns + facts->worker_cpu_ns -
                   turn->before.worker_cpu_ns;
    cost->late_max_ns = turn->cost.late_max_ns;
    cost->degraded = turn->cost.degraded;
}

/* ---- of its samples --------------------------------------------------------------------------- */

/* Returns the newest entry of the timeline whose sample has the whole hot stack. From this entry the report
 * takes how that stack was captured. If the call tree has no stack, returns the newest entry. The function
 * cannot use s->newest, because that sample may be later than the turn's end. */
static const struct hd_timeline_entry *hot_sample(const struct hd_turn_samples *s,
                                                  const struct hd_hot_path *hot) {
    for (uint32_t i = s->timeline.count; i > hd_timeline_oldest(&s->timeline); i--) {
        const struct hd_timeline_entry *e = &s->timeline.entry[(i - 1) % HD_TIMELINE];
        if (hot->count == 0) {
            return e;
        }
        for (uint32_t at = e->leaf; at != HD_TREE_NONE; at = s->tree.pool->node[at].parent) {
            if (at == hot->node[hot->count - 1]) {
                return e;
            }
        }
    }
    return NULL;
}

static void describe_samples(const struct hd_turn_samples *s, const struct hd_hot_path *path,
                             struct hd_report *r) {
    const struct hd_timeline_entry *hot = hot_sample(s, path);
    r->tree = &s->tree;
    r->hot_way = hot != NULL ? hot->way : s->newest.way;
    r->hot_stop = hot != NULL ? hot->stop : s->newest.stop;
    r->hot_cut = hot != NULL ? hot->cut : s->newest.cut;
    r->taken = s->taken;
    r->timeline = s->timeline.entry;
    r->timeline_size = HD_TIMELINE;
    r->timeline_count = hd_timeline_size(&s->timeline);
    r->timeline_first = hd_timeline_oldest(&s->timeline) % HD_TIMELINE;
}

/* ---- the cause -------------------------------------------------------------------------------- */

/* If another thread blocks the loop's thread, for example as the owner of a lock, it is the first captured
 * thread. Copies the id, name, call and file of that other thread into the sums. */
static void add_owner(const struct hd_turn *turn, const struct hd_facts *facts, struct hd_cause_sums *s) {
    const struct hd_thread_record *owner = facts->threads;
    if (turn->threads.count != 0 && facts->thread_count != 0 &&
        !hd_thread_id_equal(owner->thread, turn->loop.thread)) {
        bool waits = owner->state == HD_RUN_BLOCKED || owner->state == HD_RUN_UNINTERRUPTIBLE;
        s->owner.thread = owner->thread;
        s->owner.syscall_nr = waits ? owner->syscall_nr : HD_SYSCALL_NONE;
        s->owner.path = owner->path;
        memcpy(s->owner.name, owner->name, sizeof s->owner.name);
    }
}

/* If the cause is a lock, adds the cycle of threads that are blocked by each other. Adds no cycle to a hang
 * that ended while the program still runs. A deadlock does not end by itself, so a call in that cycle had a
 * time limit. */
static void add_deadlock(const struct hd_run *run, const struct hd_turn *turn, bool complete,
                         struct hd_cause *cause) {
    bool ended = complete && !atomic_load_explicit(&run->channel.stop.requested, memory_order_relaxed);
    if (turn->threads.deadlock_count != 0 && cause->kind == HD_CAUSE_LOCK && !ended) {
        memcpy(cause->deadlock, turn->threads.deadlock, sizeof cause->deadlock);
        cause->deadlock_count = turn->threads.deadlock_count;
        hd_cause_say_ring(cause);
    }
}

/* Adds the stall times, the memory use and the memory limit of the control group, for the reader of the
 * report only. The cause does not depend on them, because they are about all threads of the group. */
static void add_group(const struct hd_turn *turn, const struct hd_facts *facts, struct hd_cause *cause) {
    for (unsigned i = 0; i < HD_PRESSURES; i++) {
        cause->stall_ns[i] =
            least(growth(turn->before.stall_ns[i], facts->stall_ns[i]), turn->times.duration_ns);
    }
    cause->memory_used = facts->memory_used;
    cause->memory_limit = facts->memory_limit;
}

/* Works on a copy of the turn's sums: it limits the copied times, but later samples must be added to the
 * unlimited ones. */
static void describe_cause(struct hd_publisher *p, const struct hd_turn *turn, const struct hd_facts *facts,
                           bool complete, struct hd_cause *cause) {
    p->sums = turn->samples.sums;
    /* limits the times in the sums to the hang's duration, because the sums still include a stop of the
     * process that the monitor noticed late */
    hd_cause_limit(&p->sums, turn->times.duration_ns);
    if (p->run->settings.without_paths) {
        hd_cause_forget_paths(&p->sums);
    }
    /* limits throttled_ns to the hang's duration: the kernel adds up the throttled times of all CPUs, and the
     * sum may be longer than the hang */
    p->sums.throttled_ns = least(facts->throttled_ns - turn->before.throttled_ns, turn->times.duration_ns);
    add_owner(turn, facts, &p->sums);
    hd_cause_decide(&p->sums, cause);
    cause->major_faults = growth(turn->before.major_faults, facts->major_faults);
    cause->throttled_ns = p->sums.throttled_ns;
    add_group(turn, facts, cause);
    add_deadlock(p->run, turn, complete, cause);
}

/* ---- all of it -------------------------------------------------------------------------------- */

void hd_describe_turn(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts,
                      bool complete, struct hd_description *d) {
    hd_samples_limit(turn);
    d->hot.count = hd_tree_hot_path(&turn->samples.tree, d->hot.node, HD_TREE_DEPTH_MAX);
    hd_describe_run(p, kind_of(turn), &d->report);
    hd_describe_process(facts, &d->report);
    describe_turn(p->run, turn, &d->report);
    describe_samples(&turn->samples, &d->hot, &d->report);
    d->report.interval_ns = p->run->settings.interval_ns;
    if (turn->threads.count != 0) {
        d->report.thread_count = (int)turn->threads.count;
        hd_describe_threads(facts, &d->report);
    }
    describe_cause(p, turn, facts, complete, &d->cause);
    describe_cost(turn, facts, &d->cost);
    d->cost.suppressed = p->caps.suppressed;
    d->report.cause = &d->cause;
    d->report.monitor = &d->cost;
    d->report.complete = complete;
    d->report.fingerprint = hd_fingerprint_of(&p->code, &d->hot, &d->cause);
}
