/* SPDX-License-Identifier: MIT
 *
 * Writes the session report, which is about the whole run. On the worker thread, at the end of the run.
 */
#include "publish/publish.h"

#include <string.h>

#include "publish/describe.h"
#include "publish/spool_failure.h"
#include "record/uuid.h"
#include "report/session.h"

/* No runner waits for the end of this process, so the worker settles the deferred reports. Publishes them if
 * the loop is likely to be the program's; otherwise withdraws them. */
static void settle_deferred(struct hd_publisher *p) {
    bool likely = atomic_load(&p->run->record->loop.certainty) >= HD_RECORD_LOOP_LIKELY;
    for (uint32_t i = 0; i < p->deferred.count; i++) {
        if (likely) {
            hd_spool_release(&p->spool, p->deferred.id[i]);
        } else {
            hd_spool_withdraw(&p->spool, p->deferred.id[i]);
        }
    }
    p->deferred.count = 0;
}

/* Stores the id of the report in the record before the write. If the runner writes the session report again,
 * the runner uses this id, so that the runner's file replaces the first file. */
static void write_session(struct hd_publisher *p, const struct hd_session *s,
                          const struct hd_monitor_cost *cost) {
    struct hd_record *record = p->run->record;
    struct hd_report r;
    hd_describe_run(p, HD_REPORT_SESSION, &r);
    r.started_wall_ns = record->options.started_wall_ns;
    r.duration_ns = s->used_ns;
    r.monitor = cost;
    r.session = s;
    hd_uuid_make_session(record->open.session_id, r.started_wall_ns + s->used_ns);
    memcpy(r.id, record->open.session_id, sizeof r.id);
    int rc = hd_spool_write(&p->spool, &r, p->scratch, false);
    if (rc != 0) {
        hd_spool_failure_store(p->run, rc);
    }
    /* must be the last store: if the process dies before it, settle writes the session report */
    atomic_store(&record->status.session_written, rc == 0);
}

void hd_publish_session(struct hd_publisher *p) {
    struct hd_record *record = p->run->record;
    if (p->run->settings.exec_mode && atomic_load(&p->run->channel.stop.at_exit)) {
        settle_deferred(p);
        if (atomic_load(&record->loop.certainty) == HD_RECORD_NO_LOOP) {
            atomic_store(&record->status.session_written, 1);
            return;
        }
    } else if (p->run->settings.deferred) {
        return; /* with settings.deferred, the runner writes the session report, whatever ends the program */
    }
    struct hd_session s;
    struct hd_monitor_cost cost;
    hd_spool_make_room(&p->spool);
    atomic_store_explicit(&record->losses.dropped_reports, p->spool.dropped, memory_order_relaxed);
    uint64_t now_ns = hd_os_now_ns();
    hd_record_foreground(record, false, now_ns);
    hd_session_fill(record, now_ns - record->options.started_ns, &s, &cost);
    if (s.turns == 0 && s.hangs == 0) { /* a run without a loop has no session report */
        atomic_store(&record->status.session_written, 1);
        return;
    }
    s.previous_end = p->previous_end;
    write_session(p, &s, &cost);
}
