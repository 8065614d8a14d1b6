/* SPDX-License-Identifier: MIT */
#include "cli/settle/settle.h"

#include <stdio.h>
#include <sys/wait.h>

#include "cli/settle/liveness.h"
#include "cli/settle/settle_record.h"

/* Adds record `c` to the first record `sum`, for the runner's summary. `last`: `sum` gets its status. */
static void add_up(struct hd_record *sum, struct hd_record *c, bool last) {
    if (last) {
        atomic_store(&sum->status.attached, atomic_load(&c->status.attached));
        atomic_store(&sum->status.unwatched, atomic_load(&c->status.unwatched));
    }
    uint32_t known = c->loop.certainty > sum->loop.certainty ? c->loop.certainty : sum->loop.certainty;
    atomic_store(&sum->loop.certainty, known);
    int error = c->losses.spool_error != 0 ? c->losses.spool_error : sum->losses.spool_error;
    atomic_store(&sum->losses.spool_error, error);
    settle_record_add(&sum->turns.launch_ns,
                      c->options.of_child || sum->turns.launch_ns != 0 ? 0 : c->turns.launch_ns);
    settle_record_add(&sum->loop.waits, atomic_load(&c->loop.waits));
    settle_record_add(&sum->loop.waited_ns, atomic_load(&c->loop.waited_ns));
    settle_record_add(&sum->hangs.count, atomic_load(&c->hangs.count));
    settle_record_add(&sum->hangs.total_ns, atomic_load(&c->hangs.total_ns));
    settle_record_add(&sum->pools.stalls, atomic_load(&c->pools.stalls));
    settle_record_add(&sum->pools.stall_ns, atomic_load(&c->pools.stall_ns));
    settle_record_add(&sum->losses.spool_failures, atomic_load(&c->losses.spool_failures));
    settle_record_add(&sum->losses.dropped_reports, atomic_load(&c->losses.dropped_reports));
}

static uint64_t used_until(struct hd_record *c, uint64_t until_ns) {
    uint64_t not_used_ns = c->options.started_ns + atomic_load(&c->runner.stopped_ns);
    return until_ns > not_used_ns ? until_ns - not_used_ns : 0;
}

/* Returns how long the program ran, up to the last sign of life in the record, or up to the exec that
 * replaced the program. The true end may be unknown, because only a parent knows when a process ended. */
static uint64_t recorded_ns(struct hd_record *c) {
    uint64_t superseded_ns = atomic_load(&c->owner.superseded_ns);
    return used_until(c, superseded_ns != 0 ? superseded_ns : atomic_load(&c->status.alive_ns));
}

void settle_run(const struct run_result *r, const char *previous_end, struct settle_dropped *dropped) {
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        struct hd_record *c = &r->record[i];
        uint32_t owner = atomic_load(&c->owner.pid);
        bool of_child = c->options.of_child, superseded = atomic_load(&c->owner.superseded_ns) != 0;
        bool last = owner == (uint32_t)r->child && !of_child && !superseded;
        if (owner == 0 || (of_child && !superseded && liveness_pid(c) != 0)) {
            continue; /* a living child finishes its own reports */
        }
        /* The runner does not know how a child of the program ended, since only the child's parent knows. A
         * program that exec replaced counts as ended by itself. */
        int death = !superseded && of_child          ? SETTLE_DEATH_UNKNOWN
                    : last && WIFSIGNALED(r->status) ? WTERMSIG(r->status)
                                                     : SETTLE_BY_ITSELF;
        settle_record(c, death, last && !WCOREDUMP(r->status) ? r->ended_ns : 0,
                      last ? used_until(c, r->ended_ns) : recorded_ns(c), of_child ? NULL : previous_end,
                      dropped);
        if (!of_child && atomic_load(&c->loop.certainty) != HD_RECORD_NO_LOOP) {
            /* Only one session report gets `previous_end`, even if several programs of the process had a
             * loop. */
            previous_end = NULL;
        }
        if (i > 0) {
            add_up(r->record, c, last);
        }
    }
}

int settle_orphan(struct hd_record *table, const char *spool) {
    int failed = 0;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        struct hd_record *c = &table[i];
        if (atomic_load(&c->owner.pid) != 0 && atomic_load(&c->status.session_written) == 0) {
            snprintf(c->options.spool, sizeof c->options.spool, "%s", spool);
            /* The record file may contain any bytes, so each string of the options gets a NUL at its
             * end. */
            c->options.app_name[sizeof c->options.app_name - 1] = '\0';
            c->options.app_version[sizeof c->options.app_version - 1] = '\0';
            c->options.environment[sizeof c->options.environment - 1] = '\0';
            int rc = settle_record(
                c, atomic_load(&c->owner.superseded_ns) == 0 ? SETTLE_DEATH_UNKNOWN : SETTLE_BY_ITSELF,
                atomic_load(&c->runner.mirrored_ns), recorded_ns(c), NULL, NULL);
            atomic_store(&c->status.session_written, rc == 0);
            failed = rc != 0 ? rc : failed;
        }
    }
    return failed;
}

int settle_outside(struct hd_record *c, bool lives, uint64_t ended_ns) {
    if (lives) {
        atomic_store(&c->status.end, HD_RECORD_STOPPED);
    }
    return settle_record(c, lives ? SETTLE_BY_ITSELF : SETTLE_DEATH_UNKNOWN, ended_ns, recorded_ns(c), NULL,
                         NULL);
}
