/* SPDX-License-Identifier: MIT
 *
 * Worker: what is known of a hang becomes a report in the spool; so does the run's own. May wait for
 * the disk. No allocation.
 */
#include "worker/publish.h"

#include <errno.h>
#include <string.h>

#include "cause/linux/pressure.h"
#include "cause/linux/throttled.h"
#include "os/linux/proc_stat.h"
#include "record/uuid.h"
#include "report/outbox_writer.h"
#include "turn/samples.h"
#include "worker/deferred.h"
#include "worker/open_record.h"
#include "worker/repeat.h"
#include "worker/spool_failure.h"

#define THREADS_MANY 64
#define CPU_SPAN_NS (50 * HD_NS_PER_MS) /* a share of less time says nothing */

/* ---- the document --------------------------------------------------------------------------- */

/* A hang that ends while the program goes on was in none after all: a lock with a time limit gave up. */
static void fill_deadlock(const struct hd_run *r, const struct hd_turn *h, bool complete,
                          struct hd_cause *cause) {
    bool ended = complete && !atomic_load_explicit(&r->channel.stopping, memory_order_relaxed);
    if (h->threads.deadlock_count != 0 && cause->kind == HD_CAUSE_LOCK && !ended) {
        memcpy(cause->deadlock, h->threads.deadlock, sizeof cause->deadlock);
        cause->deadlock_count = h->threads.deadlock_count;
        hd_cause_say_ring(cause);
    }
}

static void fill_cost(const struct hd_worker *k, const struct hd_turn *h, struct hd_monitor_cost *out) {
    *out = (struct hd_monitor_cost){
        .samples = h->cost.captures.samples - h->before.captures.samples,
        .interrupted_syscalls =
            h->cost.captures.interrupted_syscalls - h->before.captures.interrupted_syscalls,
        .restarted_syscalls = h->cost.captures.restarted_syscalls - h->before.captures.restarted_syscalls,
        .pause_max_ns = h->cost.captures.pause_max_ns,
        .pause_total_ns = h->cost.captures.pause_total_ns - h->before.captures.pause_total_ns,
        .cpu_ns = h->cost.monitor_cpu_ns - h->before.monitor_cpu_ns + hd_os_thread_cpu_ns() -
                  h->before.worker_cpu_ns,
        .late_max_ns = h->cost.late_max_ns,
        .suppressed = k->caps.suppressed,
        .degraded = h->cost.degraded,
    };
}

/* Of one processor, since the turn began to be followed. */
static double process_percent(const struct hd_turn *h) {
    uint64_t cpu_ns = h->times.process_cpu_ns - h->before.process_cpu_ns;
    bool known = h->times.process_cpu_ns != 0 && h->times.duration_ns >= h->before.age_ns + CPU_SPAN_NS;
    return known ? 100 * (double)cpu_ns / (double)(h->times.duration_ns - h->before.age_ns) : -1;
}

static enum hd_report_kind kind_of(const struct hd_turn *h) {
    if (h->threads.count > THREADS_MANY) {
        return HD_REPORT_TOO_MANY_THREADS;
    }
    if (h->state == HANGDOG_STATE_LAUNCH) {
        return HD_REPORT_LAUNCH;
    }
    return h->state == HANGDOG_STATE_BACKGROUND ? HD_REPORT_BACKGROUND_HANG : HD_REPORT_HANG;
}

/* The newest sample that met the whole hot stack: what is told of how that was taken. Where no sample had a
 * stack, the newest of the hang: the last one that was taken may have come after its end. */
static const struct hd_timeline_entry *hot_sample(const struct hd_turn *h, const struct hd_hot_path *hot) {
    for (uint32_t i = h->samples.timeline.count; i > 0 && i + HD_TIMELINE > h->samples.timeline.count; i--) {
        const struct hd_timeline_entry *e = &h->samples.timeline.entry[(i - 1) % HD_TIMELINE];
        if (hot->count == 0) {
            return e;
        }
        for (uint32_t at = e->leaf; at != HD_TREE_NONE; at = h->samples.tree.pool->node[at].parent) {
            if (at == hot->node[hot->count - 1]) {
                return e;
            }
        }
    }
    return NULL;
}

/* Of the hang so far. */
static uint64_t background_of(const struct hd_run *r, const struct hd_turn *h) {
    uint64_t until_ns = h->times.start_ns + h->times.duration_ns + h->times.excluded_ns;
    uint64_t spent_ns = hd_background_until(&r->channel.background, until_ns);
    uint64_t ns = spent_ns > h->before.background_ns ? spent_ns - h->before.background_ns : 0;
    return ns < h->times.duration_ns ? ns : h->times.duration_ns;
}

void hd_publish_prepare(struct hd_worker *k, enum hd_report_kind kind, struct hd_report *r) {
    memset(r, 0, sizeof *r);
    r->kind = kind;
    r->complete = true;
    r->app = &k->app;
    r->host = &k->host;
    r->cpu_percent = -1;
    r->without_paths = k->run->settings.without_paths;
    r->modules = &k->modules;
    r->scripts = &k->scripts;
}

void hd_publish_threads(const struct hd_worker *k, struct hd_report *r) {
    r->threads = k->others.thread;
    r->thread_records = k->others.count;
    r->threads_left_out = k->others.left_out;
    r->thread_frames = k->others.frames;
}

static void fill_loop(const struct hd_worker *k, const struct hd_turn *h, struct hd_report *r) {
    r->loop_name = h->loop.name;
    r->loop_thread = h->loop.thread;
    r->loop_activity = hd_words_activity(h->activity <= HANGDOG_EXIT ? h->activity : HANGDOG_EXIT);
    r->loop_state = hd_words_state(h->state < HANGDOG_STATES ? h->state : HANGDOG_STATE_FOREGROUND);
    r->loop_scheme = h->loop.scheme;
    r->background_ns = background_of(k->run, h);
}

static void fill_samples(const struct hd_worker *k, struct hd_turn *h, const struct hd_hot_path *path,
                         struct hd_report *r) {
    const struct hd_timeline_entry *hot = hot_sample(h, path);
    const struct hd_turn_samples *s = &h->samples;
    r->tree = &s->tree;
    r->hot_way = hot != NULL ? hot->way : s->newest.way;
    r->hot_stop = hot != NULL ? hot->stop : s->newest.stop;
    r->hot_cut = hot != NULL ? hot->cut : s->newest.cut;
    r->interval_ns = k->run->settings.interval_ns;
    r->taken = s->taken;
    r->timeline = s->timeline.entry;
    r->timeline_size = HD_TIMELINE;
    r->timeline_count = hd_timeline_size(&s->timeline);
    r->timeline_first = hd_timeline_oldest(&s->timeline) % HD_TIMELINE;
}

static void fill(struct hd_worker *k, struct hd_turn *h, const struct hd_hot_path *path,
                 struct hd_report *r) {
    hd_publish_prepare(k, kind_of(h), r);
    memcpy(r->id, h->report.id, sizeof r->id);
    r->started_wall_ns = h->times.start_wall_ns;
    r->started_ns = h->times.start_ns;
    r->duration_ns = h->times.duration_ns;
    r->excluded_ns = h->times.excluded_ns;
    r->threshold_ns = h->times.threshold_ns;
    r->cpu_percent = process_percent(h);
    r->rss_bytes = k->rss_bytes;
    r->debugger = k->debugger;
    fill_loop(k, h, r);
    fill_samples(k, h, path, r);
    if (h->threads.count != 0) { /* one set, the newest hang's: taken while all that are open last */
        r->thread_count = (int)h->threads.count;
        hd_publish_threads(k, r);
    }
}

/* The runner, with the rights that the program had at first, may do better. */
static bool is_of_rights(int rc) {
    return rc == -EACCES || rc == -EPERM || rc == -EFBIG || rc == -EDQUOT;
}

int hd_publish_write(struct hd_worker *k, const struct hd_report *r, bool deferred) {
    int rc = hd_spool_write(&k->spool, r, k->scratch, deferred);
    if (is_of_rights(rc) && !deferred && k->run->settings.outbox != NULL) {
        rc = hd_outbox_write(k->run->settings.outbox, r, k->scratch);
    }
    atomic_fetch_add_explicit(&k->run->record->hangs.reports, rc == 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&k->run->record->hangs.complete_reports, rc == 0 && r->complete,
                              memory_order_relaxed);
    if (rc != 0) {
        atomic_fetch_add_explicit(&k->run->record->losses.spool_failures, r->complete, memory_order_relaxed);
        hd_spool_failure_note(k, rc);
    }
    hd_deferred_count_dropped(k);
    return rc;
}

/* Another thread may have the loop's slot by now. */
static bool is_certain(const struct hd_run *r, const struct hd_turn *h) {
    const struct hd_watch *w = hd_watch_at(&r->watches, h->loop.slot);
    return atomic_load_explicit(&w->loop.sure, memory_order_acquire) && w->generation == h->loop.generation;
}

/* False: it would be deferred, and the table of deferred reports is full. */
static bool write_out(struct hd_worker *k, struct hd_turn *h, const struct hd_report *r) {
    bool certain = is_certain(k->run, h);
    if (certain) { /* readers find a loop's reports in the order of its hangs */
        hd_deferred_publish(k, h->loop.slot, h->loop.generation);
    }
    h->report.published |= !k->run->settings.deferred || certain;
    bool deferred = !h->report.published, was = hd_deferred_remove(k, h);
    if (!deferred && was) { /* one file, which is replaced */
        hd_spool_release(&k->spool, h->report.id);
    }
    if (deferred && k->deferred.count == HD_DEFERRED_MAX) {
        return false;
    }
    int rc = hd_publish_write(k, r, deferred);
    if (deferred && (rc == 0 || was)) {
        hd_deferred_add(k, h);
    }
    return true;
}

/* A turn that ended while the program runs on ended in its loop's own wait: that was the loop. */
static bool is_unsure(const struct hd_run *r, const struct hd_turn *h, bool complete) {
    return r->settings.deferred && !is_certain(r, h) &&
           (!complete || atomic_load_explicit(&r->channel.stopping, memory_order_relaxed));
}

/* Of all tasks of the group, as the machine was: evidence, no part of the thread's own time. */
static void fill_pressure(const struct hd_worker *k, const struct hd_turn *h, struct hd_cause *cause) {
    uint64_t now_ns[HD_PRESSURES];
    hd_pressure_read(&k->probe, now_ns);
    for (unsigned i = 0; i < HD_PRESSURES; i++) {
        uint64_t ns = now_ns[i] > h->before.stall_ns[i] ? now_ns[i] - h->before.stall_ns[i] : 0;
        cause->stall_ns[i] = ns < h->times.duration_ns ? ns : h->times.duration_ns;
    }
    hd_pressure_memory(&k->probe, &cause->memory_used, &cause->memory_limit);
}

/* Of the threads, which are the newest hang's, the lock's owner comes first. */
static void fill_owner(const struct hd_worker *k, const struct hd_turn *h, struct hd_cause_sums *s) {
    const struct hd_thread_record *owner = &k->others.thread[0];
    if (h->threads.count != 0 && k->others.count != 0 && !hd_thread_id_equal(owner->thread, h->loop.thread)) {
        bool waits = owner->state == HD_RUN_BLOCKED || owner->state == HD_RUN_UNINTERRUPTIBLE;
        s->owner.tid = hd_thread_id_tid(owner->thread);
        s->owner.syscall_nr = waits ? owner->syscall_nr : HD_SYSCALL_NONE;
        s->owner.path = owner->path;
        memcpy(s->owner.name, owner->name, sizeof s->owner.name);
    }
}

static void fill_cause(struct hd_worker *k, const struct hd_turn *h, bool complete, struct hd_cause *cause) {
    k->sums = h->samples.sums;
    hd_cause_limit(&k->sums,
                   h->times.duration_ns); /* a stop may be taken off later than its time was added */
    if (k->run->settings.without_paths) {
        hd_cause_forget_paths(&k->sums);
    }
    uint64_t throttled_ns = hd_throttled_ns(&k->probe) - h->before.throttled_ns; /* of all its CPUs */
    k->sums.throttled_ns = throttled_ns < h->times.duration_ns ? throttled_ns : h->times.duration_ns;
    fill_owner(k, h, &k->sums);
    hd_cause_decide(&k->sums, cause);
    uint64_t faults = hd_proc_stat_major_faults(
        k->probe.proc_fd, hd_thread_id_tid(h->loop.thread)); /* the thread may be gone */
    cause->major_faults = faults > h->before.major_faults ? faults - h->before.major_faults : 0;
    cause->throttled_ns = k->sums.throttled_ns;
    fill_pressure(k, h, cause);
    fill_deadlock(k->run, h, complete, cause);
}

static void update_marker(struct hd_worker *k, struct hd_turn *h, bool over) {
    if (k->run->ports.fatal_marker != NULL) {
        k->run->ports.fatal_marker(k, h, over);
    }
}

/* False: it is withheld. What takes the place of a complete one has their number. */
static bool write_within_caps(struct hd_worker *k, struct hd_turn *h, const struct hd_report *r) {
    bool allowed = h->report.within_caps && (!r->complete || hd_caps_allow_fingerprint(k, r->fingerprint)) &&
                   write_out(k, h, r);
    if (allowed) {
        k->caps.suppressed = r->complete ? 0 : k->caps.suppressed;
    } else if (r->complete) {
        if (h->report.within_caps) {
            hd_deferred_withdraw(k, h->report.id);
        }
        k->caps.suppressed++;
        hd_record_add_suppressed(k->run->record, h->times.duration_ns);
    }
    return allowed;
}

/* A report and what it points to. */
struct described {
    struct hd_report report;
    struct hd_cause cause;
    struct hd_monitor_cost cost;
    struct hd_hot_path hot;
};

static void describe(struct hd_worker *k, struct hd_turn *h, bool complete, struct described *d) {
    hd_samples_limit(h);
    d->hot.count = hd_tree_hot_path(&h->samples.tree, d->hot.node, HD_TREE_DEPTH_MAX);
    fill(k, h, &d->hot, &d->report);
    fill_cause(k, h, complete, &d->cause);
    fill_cost(k, h, &d->cost);
    d->report.cause = &d->cause;
    d->report.monitor = &d->cost;
    d->report.complete = complete;
    d->report.fingerprint = hd_repeat_fingerprint(k, &d->hot, &d->cause);
}

#define LONG_FRAME 0x6672616d65ULL /* a long frame is no repeat of a hang at the same place */

void hd_publish_frame(struct hd_worker *k, struct hd_turn *h) {
    struct described d;
    describe(k, h, true, &d);
    d.report.kind = HD_REPORT_FRAME_DROP;
    d.report.fingerprint ^= d.report.fingerprint != 0 ? LONG_FRAME : 0;
    if (hd_caps_allow_today(k) && hd_caps_allow_fingerprint(k, d.report.fingerprint)) {
        hd_publish_write(k, &d.report, false);
    } else {
        k->caps.suppressed++;
    }
}

static void post_event(struct hd_worker *k, const struct hd_turn *h, hangdog_event_type type,
                       bool suppressed) {
    hangdog_event event = {.type = type,
                           .tid = hd_thread_id_tid(h->loop.thread),
                           .suppressed = suppressed,
                           .start_ns = h->times.start_ns,
                           .duration_ns = h->times.duration_ns,
                           .threshold_ns = h->times.threshold_ns};
    memcpy(event.loop, h->loop.name, sizeof event.loop);
    hd_uuid_text(h->report.id, event.report);
    hd_events_post(&k->run->channel.events, &event);
}

void hd_publish(struct hd_worker *k, struct hd_turn *h, bool complete) {
    struct described d;
    struct hd_report *r = &d.report;
    describe(k, h, complete, &d);
    r->unsure = is_unsure(k->run, h, complete);
    bool first = h->report.written_age_ns == 0;
    if (first && !complete) { /* before the disk has its report */
        post_event(k, h, HANGDOG_EVENT_START, false);
    }
    h->report.written_age_ns = h->times.duration_ns > 0 ? h->times.duration_ns : 1;
    hd_open_record_update(k->run, h, complete);
    hd_repeat_compare(k, &d.hot, r);
    if (first && !h->report.within_caps) {
        h->report.within_caps = hd_caps_allow_today(k);
    }
    if (complete) { /* before the disk has the rest: who exits meanwhile did not die in it */
        update_marker(k, h, true);
    }
    bool allowed = write_within_caps(k, h, r);
    if (!first || complete) {
        post_event(k, h, complete ? HANGDOG_EVENT_END : HANGDOG_EVENT_UPDATE, !allowed);
    }
    if (complete) {
        hd_open_record_close(k, h);
    } else if (allowed) {
        update_marker(k, h, false);
    }
    if (complete && allowed && !r->brief) { /* a repeat is of the whole report, not of the repeat before */
        hd_repeat_store(k, &d.hot, r);
    }
}

void hd_publish_withdraw(struct hd_worker *k, struct hd_turn *h) {
    update_marker(k, h, true);
    post_event(k, h, HANGDOG_EVENT_WITHDRAWN, true);
    hd_deferred_withdraw(k, h->report.id);
    hd_deferred_remove(k, h);
    atomic_fetch_add_explicit(&k->run->record->losses.withdrawn, 1, memory_order_relaxed);
    hd_open_record_close(k, h);
}
