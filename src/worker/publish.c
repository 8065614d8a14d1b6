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
#include "report/session.h"
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
    if (h->deadlock_count != 0 && cause->kind == HD_CAUSE_LOCK && !ended) {
        memcpy(cause->deadlock, h->deadlock, sizeof cause->deadlock);
        cause->deadlock_count = h->deadlock_count;
        hd_cause_say_ring(cause);
    }
}

static void fill_cost(const struct hd_worker *k, const struct hd_turn *h, struct hd_monitor_cost *out) {
    *out = (struct hd_monitor_cost){
        .samples = h->cost.samples - h->cost_before.samples,
        .interrupted_syscalls = h->cost.interrupted_syscalls - h->cost_before.interrupted_syscalls,
        .restarted_syscalls = h->cost.restarted_syscalls - h->cost_before.restarted_syscalls,
        .pause_max_ns = h->cost.pause_max_ns,
        .pause_total_ns = h->cost.pause_total_ns - h->cost_before.pause_total_ns,
        .cpu_ns = h->cpu_ns - h->cpu_before_ns + hd_os_thread_cpu_ns() - h->worker_cpu_before_ns,
        .late_max_ns = h->late_max_ns,
        .suppressed = k->caps.suppressed,
        .degraded = h->degraded,
    };
}

/* Of one processor, since the turn began to be followed. */
static double process_percent(const struct hd_turn *h) {
    uint64_t cpu_ns = h->process_cpu_ns - h->process_cpu_before_ns;
    bool known = h->process_cpu_ns != 0 && h->duration_ns >= h->tracked_age_ns + CPU_SPAN_NS;
    return known ? 100 * (double)cpu_ns / (double)(h->duration_ns - h->tracked_age_ns) : -1;
}

static enum hd_report_kind kind_of(const struct hd_turn *h) {
    if (h->threads > THREADS_MANY) {
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
    for (uint32_t i = h->timeline_count; i > 0 && i + HD_TIMELINE > h->timeline_count; i--) {
        const struct hd_timeline_entry *e = &h->timeline[(i - 1) % HD_TIMELINE];
        if (hot->count == 0) {
            return e;
        }
        for (uint32_t at = e->leaf; at != HD_TREE_NONE; at = h->tree.pool->node[at].parent) {
            if (at == hot->node[hot->count - 1]) {
                return e;
            }
        }
    }
    return NULL;
}

/* Of the hang so far. */
static uint64_t background_of(const struct hd_run *r, const struct hd_turn *h) {
    uint64_t until_ns = h->start_ns + h->duration_ns + h->excluded_ns;
    uint64_t spent_ns = hd_background_until(&r->channel.background, until_ns);
    uint64_t ns = spent_ns > h->background_before_ns ? spent_ns - h->background_before_ns : 0;
    return ns < h->duration_ns ? ns : h->duration_ns;
}

static void fill(struct hd_worker *k, struct hd_turn *h, const struct hd_hot_path *path,
                 struct hd_report *r) {
    const struct hd_timeline_entry *hot = hot_sample(h, path);
    *r = (struct hd_report){
        .kind = kind_of(h),
        .started_wall_ns = h->start_wall_ns,
        .started_ns = h->start_ns,
        .duration_ns = h->duration_ns,
        .excluded_ns = h->excluded_ns,
        .threshold_ns = h->threshold_ns,
        .app = &k->app,
        .host = &k->host,
        .cpu_percent = process_percent(h),
        .rss_bytes = k->rss_bytes,
        .debugger = k->debugger,
        .without_paths = k->run->settings.without_paths,
        .thread_count = (int)h->threads,
        .loop_name = h->loop_name,
        .loop_thread = h->thread,
        .loop_activity = hd_words_activity(h->activity <= HANGDOG_EXIT ? h->activity : HANGDOG_EXIT),
        .loop_state = hd_words_state(h->state < HANGDOG_STATES ? h->state : HANGDOG_STATE_FOREGROUND),
        .loop_scheme = h->scheme,
        .background_ns = background_of(k->run, h),
        .tree = &h->tree,
        .hot_way = hot != NULL ? hot->way : h->last.way,
        .hot_stop = hot != NULL ? hot->stop : h->last.stop,
        .hot_cut = hot != NULL ? hot->cut : h->last.cut,
        .interval_ns = k->run->settings.interval_ns,
        .taken = h->taken,
        .timeline = h->timeline,
        .timeline_size = HD_TIMELINE,
        .timeline_count = h->timeline_count < HD_TIMELINE ? h->timeline_count : HD_TIMELINE,
        .timeline_first = h->timeline_count < HD_TIMELINE ? 0 : h->timeline_count % HD_TIMELINE,
        .threads = k->others.thread, /* one set, the newest hang's: taken while all that are open last */
        .thread_records = h->threads != 0 ? k->others.count : 0,
        .threads_left_out = h->threads != 0 ? k->others.left_out : 0,
        .thread_frames = k->others.frames,
        .modules = &k->modules,
        .scripts = &k->scripts,
    };
    memcpy(r->id, h->id, sizeof r->id);
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

/* False: it would be held, and so many are held that nobody would remember to release or withdraw it. */
static bool write_out(struct hd_worker *k, struct hd_turn *h, const struct hd_report *r) {
    const struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop); /* or, by now, another thread's */
    bool sure = atomic_load_explicit(&w->loop.sure, memory_order_acquire) && w->generation == h->generation;
    if (sure) { /* readers find a loop's reports in the order of its hangs */
        hd_deferred_publish(k, h->loop, h->generation);
    }
    h->published |= !k->run->settings.deferred || sure;
    bool deferred = !h->published, was = hd_deferred_remove(k, h);
    if (!deferred && was) { /* one file, which is replaced */
        hd_spool_release(&k->spool, h->id);
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
    const struct hd_watch *w = hd_watch_at(&r->watches, h->loop);
    bool certain =
        w->generation == h->generation && atomic_load_explicit(&w->loop.sure, memory_order_acquire);
    return r->settings.deferred && !certain &&
           (!complete || atomic_load_explicit(&r->channel.stopping, memory_order_relaxed));
}

/* Of all tasks of the group, as the machine was: evidence, no part of the thread's own time. */
static void fill_pressure(const struct hd_worker *k, const struct hd_turn *h, struct hd_cause *cause) {
    uint64_t now_ns[HD_PRESSURES];
    hd_pressure_read(&k->probe, now_ns);
    for (unsigned i = 0; i < HD_PRESSURES; i++) {
        uint64_t ns = now_ns[i] > h->stall_before_ns[i] ? now_ns[i] - h->stall_before_ns[i] : 0;
        cause->stall_ns[i] = ns < h->duration_ns ? ns : h->duration_ns;
    }
    hd_pressure_memory(&k->probe, &cause->memory_used, &cause->memory_limit);
}

/* Of the threads, which are the newest hang's, the lock's owner comes first. */
static void fill_owner(const struct hd_worker *k, const struct hd_turn *h, struct hd_cause_sums *s) {
    const struct hd_thread_record *owner = &k->others.thread[0];
    if (h->threads != 0 && k->others.count != 0 && !hd_thread_id_equal(owner->thread, h->thread)) {
        bool waits = owner->state == HD_RUN_BLOCKED || owner->state == HD_RUN_UNINTERRUPTIBLE;
        s->owner.tid = hd_thread_id_tid(owner->thread);
        s->owner.syscall_nr = waits ? owner->syscall_nr : HD_SYSCALL_NONE;
        s->owner.path = owner->path;
        memcpy(s->owner.name, owner->name, sizeof s->owner.name);
    }
}

static void fill_cause(struct hd_worker *k, const struct hd_turn *h, bool complete, struct hd_cause *cause) {
    k->sums = h->sums;
    hd_cause_limit(&k->sums, h->duration_ns); /* a stop may be taken off later than its time was added */
    if (k->run->settings.without_paths) {
        hd_cause_forget_paths(&k->sums);
    }
    uint64_t throttled_ns = hd_throttled_ns(&k->probe) - h->throttled_before_ns; /* of all its CPUs */
    k->sums.throttled_ns = throttled_ns < h->duration_ns ? throttled_ns : h->duration_ns;
    fill_owner(k, h, &k->sums);
    hd_cause_decide(&k->sums, cause);
    uint64_t faults =
        hd_proc_stat_major_faults(k->probe.proc_fd, hd_thread_id_tid(h->thread)); /* the thread may be gone */
    cause->major_faults = faults > h->faults_before ? faults - h->faults_before : 0;
    cause->throttled_ns = k->sums.throttled_ns;
    fill_pressure(k, h, cause);
    fill_deadlock(k->run, h, complete, cause);
}

static void update_marker(struct hd_worker *k, struct hd_turn *h, bool over) {
    if (k->run->ports.note != NULL) {
        k->run->ports.note(k, h, over);
    }
}

/* False: it is withheld. What takes the place of a complete one has their number. */
static bool write_within_caps(struct hd_worker *k, struct hd_turn *h, const struct hd_report *r) {
    bool allowed = h->within_caps && (!r->complete || hd_caps_allow_fingerprint(k, r->fingerprint)) &&
                   write_out(k, h, r);
    if (allowed) {
        k->caps.suppressed = r->complete ? 0 : k->caps.suppressed;
    } else if (r->complete) {
        if (h->within_caps) {
            hd_deferred_withdraw(k, h->id);
        }
        k->caps.suppressed++;
        hd_record_add_suppressed(k->run->record, h->duration_ns);
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
    hd_turn_limit(h);
    d->hot.count = hd_tree_hot_path(&h->tree, d->hot.node, HD_TREE_DEPTH_MAX);
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
                           .tid = hd_thread_id_tid(h->thread),
                           .suppressed = suppressed,
                           .start_ns = h->start_ns,
                           .duration_ns = h->duration_ns,
                           .threshold_ns = h->threshold_ns};
    memcpy(event.loop, h->loop_name, sizeof event.loop);
    hd_uuid_text(h->id, event.report);
    hd_events_post(&k->run->channel.events, &event);
}

void hd_publish(struct hd_worker *k, struct hd_turn *h, bool complete) {
    struct described d;
    struct hd_report *r = &d.report;
    describe(k, h, complete, &d);
    r->unsure = is_unsure(k->run, h, complete);
    bool first = h->written_age_ns == 0;
    if (first && !complete) { /* before the disk has its report */
        post_event(k, h, HANGDOG_EVENT_START, false);
    }
    h->written_age_ns = h->duration_ns > 0 ? h->duration_ns : 1;
    hd_open_record_update(k->run, h, complete);
    hd_repeat_compare(k, &d.hot, r);
    if (first && !h->within_caps) {
        h->within_caps = hd_caps_allow_today(k);
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
    hd_deferred_withdraw(k, h->id);
    hd_deferred_remove(k, h);
    atomic_fetch_add_explicit(&k->run->record->losses.withdrawn, 1, memory_order_relaxed);
    hd_open_record_close(k, h);
}

/* ---- the run -------------------------------------------------------------------------------- */

void hd_publish_session(struct hd_worker *k) {
    struct hd_record *c = k->run->record;
    if (k->run->settings.exec_mode && atomic_load(&k->run->channel.leaving)) {
        hd_deferred_settle(k);
        if (atomic_load(&c->loop.certainty) == HD_RECORD_NO_LOOP) {
            atomic_store(&c->status.session_written, 1);
            return;
        }
    } else if (k->run->settings.deferred) {
        return; /* the runner writes it, whatever ended the program */
    }
    struct hd_session s;
    struct hd_monitor_cost cost;
    hd_spool_make_room(&k->spool);
    hd_deferred_count_dropped(k);
    uint64_t now_ns = hd_os_now_ns();
    hd_record_foreground(c, false, now_ns);
    hd_session_fill(c, now_ns - c->options.started_ns, &s, &cost);
    if (s.turns == 0 && s.hangs == 0) {
        atomic_store(&c->status.session_written, 1);
        return; /* a run without a loop */
    }
    struct hd_report r = {.kind = HD_REPORT_SESSION,
                          .started_wall_ns = c->options.started_wall_ns,
                          .duration_ns = s.used_ns,
                          .complete = true,
                          .app = &k->app,
                          .host = &k->host,
                          .cpu_percent = -1,
                          .monitor = &cost,
                          .session = &s};
    hd_uuid_make_session(c->open.session_id, c->options.started_wall_ns + s.used_ns);
    memcpy(r.id, c->open.session_id, sizeof r.id);
    int rc = hd_spool_write(&k->spool, &r, k->scratch, false);
    if (rc != 0) {
        hd_spool_failure_note(k, rc);
    }
    atomic_store(&c->status.session_written,
                 rc == 0); /* not before: else the next start would not write it either */
}
