/* SPDX-License-Identifier: MIT
 *
 * The report of the run itself. Worker: may wait for the disk. No allocation.
 */
#include "worker/publish.h"

#include <string.h>

#include "record/uuid.h"
#include "report/session.h"
#include "worker/deferred.h"
#include "worker/spool_failure.h"

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
    struct hd_report r;
    hd_publish_prepare(k, HD_REPORT_SESSION, &r);
    r.started_wall_ns = c->options.started_wall_ns;
    r.duration_ns = s.used_ns;
    r.monitor = &cost;
    r.session = &s;
    hd_uuid_make_session(c->open.session_id, c->options.started_wall_ns + s.used_ns);
    memcpy(r.id, c->open.session_id, sizeof r.id);
    int rc = hd_spool_write(&k->spool, &r, k->scratch, false);
    if (rc != 0) {
        hd_spool_failure_note(k, rc);
    }
    atomic_store(&c->status.session_written,
                 rc == 0); /* not before: else the next start would not write it either */
}
