/* SPDX-License-Identifier: MIT */
#include "outside/linux/perf_switches.h"

#include <errno.h>
#include <stdlib.h>

#include "outside/linux/suspicion.h"

#define RING_BYTES 8192u /* 256 blocks between two looks */

void hd_perf_switches_end(struct hd_poll_thread *t) {
    if (t->switches != NULL) {
        hd_perf_ring_close(&t->switches->ring);
        free(t->switches);
        t->switches = NULL;
    }
}

/* The thread is in its loop's wait. */
static void begin(struct hd_poll_thread *t, uint64_t now_ns) {
    const struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
                                      .config = PERF_COUNT_SW_DUMMY,
                                      .sample_type = PERF_SAMPLE_TIME,
                                      .sample_id_all = 1,
                                      .context_switch = 1,
                                      .exclude_kernel = 1,
                                      .exclude_hv = 1};
    t->switches = calloc(1, sizeof *t->switches);
    int rc = t->switches != NULL ? hd_perf_ring_open(&t->switches->ring, &a, t->tid, RING_BYTES) : -ENOMEM;
    if (rc != 0) {
        free(t->switches);
        t->switches = NULL;
        t->no_proof_until_ns = now_ns + 2 * HD_NS_PER_S;
        return;
    }
    t->switches->left_ns = now_ns;
}

static void add_wake(struct hd_perf_switches *s, uint64_t at_ns) {
    s->first_ns = s->wakes == 0 ? at_ns : s->first_ns;
    s->woke_ns = at_ns;
    s->wakes++;
    s->left_ns = 0;
}

static void read_switches(struct hd_perf_switches *s) {
    struct hd_perf_record record;
    while (hd_perf_ring_next(&s->ring, &record)) {
        uint64_t at_ns;
        if (record.head.type == PERF_RECORD_LOST) {
            s->wakes += 2; /* which of them began the turn is not known */
        }
        if (record.head.type != PERF_RECORD_SWITCH) {
            continue;
        }
        hd_perf_ring_copy(&s->ring, &record.body, &at_ns, sizeof at_ns);
        if ((record.head.misc & PERF_RECORD_MISC_SWITCH_OUT) == 0) {
            if (s->left_ns != 0) {
                add_wake(s, at_ns);
            }
        } else if ((record.head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) == 0) {
            s->left_ns = at_ns;
        }
    }
}

void hd_perf_switches_prove(struct hd_poll_thread *t, struct hd_poll_look *look) {
    struct hd_perf_switches *s = t->switches;
    if (s == NULL) {
        hd_suspicion_prove(t, look);
        if (look->waits && look->at_ns >= t->no_proof_until_ns) {
            begin(t, look->at_ns);
        }
        return;
    }
    read_switches(s);
    if (look->waits) {
        hd_suspicion_prove(t, look);
        look->blocked_ns = s->left_ns;
        s->wakes = s->left_ns == 0 ? 1 : 0; /* 1: it woke after the look */
        s->first_ns = s->woke_ns;
        return;
    }
    if (s->wakes != 0 && s->first_ns > t->turn.waited_ns) {
        t->turn.waited_ns = s->first_ns;
    }
    hd_suspicion_prove(t, look);
    bool certain = look->proven_ns != 0 || (look->blocked && s->left_ns != 0);
    if (s->wakes == 1 && certain && s->woke_ns >= t->turn.waited_ns) {
        look->proven_ns = s->woke_ns;
    }
}
