/* SPDX-License-Identifier: MIT
 *
 * Writes, defers, publishes and withdraws the report of a hang. If the process dies between two writes to the
 * spool, cli/settle finishes the report by the record. So cli/settle depends on the order of these writes. On
 * the worker thread.
 */
#include "publish/publish.h"

#include <errno.h>
#include <string.h>

#include "publish/caps.h"
#include "publish/deferred.h"
#include "publish/describe.h"
#include "publish/open_record.h"
#include "publish/repeat.h"
#include "publish/spool_failure.h"
#include "record/uuid.h"
#include "report/outbox_writer.h"

#define DAY_NS (24 * 3600 * HD_NS_PER_S)
/* makes the fingerprint of a long display frame differ from that of a hang with the same stack */
#define LONG_FRAME 0x6672616d65ULL

/* ---- the program's view ----------------------------------------------------------------------- */

static void post_event(struct hd_publisher *p, const struct hd_turn *turn, hangdog_event_type type,
                       bool suppressed) {
    hangdog_event event = {.type = type,
                           .tid = hd_thread_id_tid(turn->loop.thread),
                           .suppressed = suppressed,
                           .start_ns = turn->times.start_ns,
                           .duration_ns = turn->times.duration_ns,
                           .threshold_ns = turn->times.threshold_ns};
    memcpy(event.loop, turn->loop.name, sizeof event.loop);
    hd_uuid_text(turn->report.id, event.report);
    hd_events_post(&p->run->channel.events, &event);
}

static void update_marker(struct hd_publisher *p, struct hd_turn *turn, bool over) {
    if (p->run->ports.fatal_marker != NULL) {
        p->run->ports.fatal_marker(p, turn, over);
    }
}

/* ---- caps ------------------------------------------------------------------------------------- */

/* True: the cap for a day allows one more report, and the report is counted. The count comes from the spool,
 * so a restart of the program does not reset the count. */
static bool day_allows(struct hd_publisher *p) {
    uint32_t per_day = p->run->settings.reports_per_day;
    uint64_t now_ns = hd_os_now_ns();
    if (per_day != UINT32_MAX && hd_caps_must_count_day(&p->caps, now_ns)) {
        uint32_t count;
        if (hd_spool_count_last(&p->spool, DAY_NS, &count) != 0) {
            count = 0;
        }
        hd_caps_set_day(&p->caps, count + p->deferred.count, now_ns);
    }
    return hd_caps_allow_day(&p->caps, per_day);
}

static bool fingerprint_allows(struct hd_publisher *p, const struct hd_report *r) {
    return hd_caps_allow_fingerprint(&p->caps, r->fingerprint, p->run->settings.reports_per_fingerprint,
                                     hd_os_now_ns());
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void count_dropped(struct hd_publisher *p) {
    atomic_store_explicit(&p->run->record->losses.dropped_reports, p->spool.dropped, memory_order_relaxed);
}

/* True: the error `rc` of this process came from missing rights, or from a limit. The runner may be able to
 * write the report, because it still has the rights that the program had at its start. */
static bool may_runner_write(int rc) {
    return rc == -EACCES || rc == -EPERM || rc == -EFBIG || rc == -EDQUOT;
}

int hd_publish_write(struct hd_publisher *p, const struct hd_report *r, bool deferred) {
    struct hd_record *record = p->run->record;
    int rc = hd_spool_write(&p->spool, r, p->scratch, deferred);
    if (may_runner_write(rc) && !deferred && p->run->settings.outbox != NULL) {
        rc = hd_outbox_write(p->run->settings.outbox, r, p->scratch);
    }
    atomic_fetch_add_explicit(&record->hangs.reports, rc == 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&record->hangs.complete_reports, rc == 0 && r->complete, memory_order_relaxed);
    if (rc != 0) {
        atomic_fetch_add_explicit(&record->losses.spool_failures, r->complete, memory_order_relaxed);
        hd_spool_failure_store(p->run, rc);
    }
    count_dropped(p);
    return rc;
}

void hd_publish_write_capped(struct hd_publisher *p, const struct hd_report *r) {
    if (fingerprint_allows(p, r) && day_allows(p)) {
        hd_publish_write(p, r, false);
    }
}

bool hd_publish_is_certain(const struct hd_run *run, const struct hd_turn *turn) {
    const struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    return atomic_load_explicit(&w->loop.found.certain, memory_order_acquire) &&
           w->generation == turn->loop.generation;
}

/* Writes the report. While the loop is not certain, the report is deferred. If HD_DEFERRED_MAX reports are
 * deferred already, writes nothing and returns false. */
static bool write_turn(struct hd_publisher *p, struct hd_turn *turn, const struct hd_report *r) {
    bool certain = hd_publish_is_certain(p->run, turn);
    /* publishes earlier reports of the loop first, so that readers find reports in the order of the hangs */
    if (certain) {
        hd_publish_certain(p, turn->loop.slot, turn->loop.generation);
    }
    turn->report.published |= !p->run->settings.deferred || certain;
    bool deferred = !turn->report.published;
    bool was_deferred = hd_deferred_remove(&p->deferred, turn->report.id);
    /* first gives the deferred report file the name that readers list; the new file gets that name too, and
     * so replaces it */
    if (!deferred && was_deferred) {
        hd_spool_release(&p->spool, turn->report.id);
    }
    if (deferred && p->deferred.count == HD_DEFERRED_MAX) {
        return false;
    }
    int rc = hd_publish_write(p, r, deferred);
    if (deferred && (rc == 0 || was_deferred)) {
        hd_deferred_add(&p->deferred, turn->report.id, turn->loop.slot, turn->loop.generation,
                        turn->times.duration_ns);
    }
    return true;
}

static void withdraw(struct hd_publisher *p, const uint8_t *id) {
    hd_spool_withdraw(&p->spool, id);
    /* takes the report off the day's count; it was counted when the hang started */
    hd_caps_give_back(&p->caps);
}

/* Writes the report if the caps allow it. False: the report is not written. A complete report that is not
 * written counts as suppressed. The next complete report says how many reports were suppressed. */
static bool write_within_caps(struct hd_publisher *p, struct hd_turn *turn, const struct hd_report *r) {
    bool allowed =
        turn->report.within_caps && (!r->complete || fingerprint_allows(p, r)) && write_turn(p, turn, r);
    if (allowed) {
        p->caps.suppressed = r->complete ? 0 : p->caps.suppressed;
    } else if (r->complete) {
        if (turn->report.within_caps) {
            withdraw(p, turn->report.id);
        }
        p->caps.suppressed++;
        hd_record_add_suppressed(p->run->record, turn->times.duration_ns);
    }
    return allowed;
}

/* ---- a hang ----------------------------------------------------------------------------------- */

/* The report's id contains the time when the hang started, so that reports sort by that time. If a launch
 * started before the run, the id contains the time when the run started instead. */
void hd_publish_open(const struct hd_publisher *p, struct hd_turn *turn) {
    uint64_t run_ns = p->run->record->options.started_wall_ns, start_ns = turn->times.start_wall_ns;
    turn->report.opened = true;
    hd_uuid_make_at(turn->report.id, start_ns > run_ns ? start_ns : run_ns);
}

/* True: it is not certain that the report is about the program's loop. If the turn ended while the program
 * still runs, the loop came back to its own wait. This proves that the loop is the program's. */
static bool is_unsure(const struct hd_run *run, const struct hd_turn *turn, bool complete) {
    return run->settings.deferred && !hd_publish_is_certain(run, turn) &&
           (!complete || atomic_load_explicit(&run->channel.stop.requested, memory_order_relaxed));
}

static void mark_repeat(struct hd_publisher *p, struct hd_report *r, uint64_t stack) {
    if (hd_repeat_matches(&p->before, r, stack) && hd_spool_has(&p->spool, p->before.id)) {
        r->brief = true;
        memcpy(r->repeat_of, p->before.id, sizeof r->repeat_of);
    }
}

static void write_open(struct hd_publisher *p, struct hd_turn *turn, const struct hd_report *r, bool first) {
    bool written = write_within_caps(p, turn, r);
    if (!first) {
        post_event(p, turn, HANGDOG_EVENT_UPDATE, !written);
    }
    if (written) {
        update_marker(p, turn, false);
    }
}

/* Removes the fatal marker before the write, because a process that exits during the write has not died in
 * the hang. */
static void write_complete(struct hd_publisher *p, struct hd_turn *turn, const struct hd_report *r,
                           uint64_t stack) {
    update_marker(p, turn, true);
    bool written = write_within_caps(p, turn, r);
    post_event(p, turn, HANGDOG_EVENT_END, !written);
    hd_open_record_close(p->run, p->turns, turn);
    /* stores no brief report: a repeat refers to a report with samples, and a brief report has no samples */
    if (written && !r->brief) {
        hd_repeat_store(&p->before, r, stack);
    }
}

void hd_publish(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts, bool complete) {
    struct hd_description d;
    hd_describe_turn(p, turn, facts, complete, &d);
    d.report.unsure = is_unsure(p->run, turn, complete);
    bool first = turn->report.written_age_ns == 0;
    /* posts the event before the write, so that the program learns of the hang at once even if the disk is
     * slow */
    if (first && !complete) {
        post_event(p, turn, HANGDOG_EVENT_START, false);
    }
    turn->report.written_age_ns = turn->times.duration_ns > 0 ? turn->times.duration_ns : 1;
    hd_open_record_update(p->run, turn, complete);
    uint64_t stack = hd_fingerprint_of_stack(&p->code, &d.hot);
    mark_repeat(p, &d.report, stack);
    if (first && !turn->report.within_caps) {
        turn->report.within_caps = day_allows(p);
    }
    if (complete) {
        write_complete(p, turn, &d.report, stack);
    } else {
        write_open(p, turn, &d.report, first);
    }
}

void hd_publish_withdraw(struct hd_publisher *p, struct hd_turn *turn) {
    update_marker(p, turn, true);
    post_event(p, turn, HANGDOG_EVENT_WITHDRAWN, true);
    withdraw(p, turn->report.id);
    hd_deferred_remove(&p->deferred, turn->report.id);
    atomic_fetch_add_explicit(&p->run->record->losses.withdrawn, 1, memory_order_relaxed);
    hd_open_record_close(p->run, p->turns, turn);
}

void hd_publish_frame(struct hd_publisher *p, struct hd_turn *turn, const struct hd_facts *facts) {
    struct hd_description d;
    hd_describe_turn(p, turn, facts, true, &d);
    d.report.kind = HD_REPORT_FRAME_DROP;
    d.report.fingerprint ^= d.report.fingerprint != 0 ? LONG_FRAME : 0;
    if (day_allows(p) && fingerprint_allows(p, &d.report)) {
        hd_publish_write(p, &d.report, false);
    } else {
        p->caps.suppressed++;
    }
}

/* ---- deferred reports ------------------------------------------------------------------------- */

void hd_publish_certain(struct hd_publisher *p, uint8_t slot, uint32_t generation) {
    struct hd_turn *turn = hd_turns_find(p->turns, slot, generation);
    if (turn != NULL) {
        turn->report.published = true;
    }
    struct hd_deferred *d = &p->deferred;
    for (uint32_t i = 0; (i = hd_deferred_find(d, i, slot, generation)) < d->count;) {
        hd_spool_release(&p->spool, d->id[i]);
        hd_deferred_remove_at(d, i);
    }
    count_dropped(p);
}

/* True: the hang of the report with this id is still open. */
static bool lasts(const struct hd_turns *turns, const uint8_t *id) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        const struct hd_turn *turn = &turns->turn[i];
        if (turn->report.opened && memcmp(turn->report.id, id, HD_UUID_BYTES) == 0) {
            return turn->used;
        }
    }
    return false;
}

void hd_publish_void(struct hd_publisher *p, uint8_t slot, uint32_t generation) {
    struct hd_record *record = p->run->record;
    struct hd_deferred *d = &p->deferred;
    for (uint32_t i = 0; (i = hd_deferred_find(d, i, slot, generation)) < d->count;) {
        if (lasts(p->turns, d->id[i])) {
            i++;
            continue;
        }
        withdraw(p, d->id[i]);
        atomic_fetch_add_explicit(&record->losses.withdrawn, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&record->hangs.count, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&record->hangs.total_ns, d->duration_ns[i], memory_order_relaxed);
        hd_deferred_remove_at(d, i);
    }
}
