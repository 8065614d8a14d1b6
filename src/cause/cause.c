/* SPDX-License-Identifier: MIT */
#include "cause/cause.h"

#include <string.h>

#include "base/text.h"
#include "cause/rows.h"

static const char no_sample[] = "no sample shows why";

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns the kind of cause with the most time; of kinds with equal time, the first one in words.def. Ignores
 * HD_CAUSE_GC, because hd_cause_decide compares a garbage collector's whole time: the time that the collector
 * ran, or waited for its helper threads. */
static enum hd_cause_kind most_of(const struct hd_cause_sums *s) {
    enum hd_cause_kind kind = HD_CAUSE_UNKNOWN;
    for (int i = HD_CAUSE_KINDS - 1; i >= 0; i--) {
        if (i != HD_CAUSE_GC && s->ns[i] != 0 && s->ns[i] >= s->ns[kind]) {
            kind = (enum hd_cause_kind)i;
        }
    }
    return kind;
}

static bool is_half_of_cpu(const struct hd_cause_sums *s, enum hd_cause_kind kind) {
    return s->ran_ns[kind] > s->ns[HD_CAUSE_CPU] / 2;
}

/* Fills *out for a cause that is code on a CPU, such as a toolkit's drawing. `ns`: how long that code ran. */
static void decide_ran(const struct hd_cause_sums *s, enum hd_cause_kind kind, uint64_t ns,
                       struct hd_cause *out, struct hd_text *t) {
    out->kind = (uint8_t)kind;
    out->share = (double)ns / (double)s->total_ns;
    hd_cause_say(t, s, kind, true);
}

static void decide_wait(const struct hd_cause_sums *s, enum hd_cause_kind kind, struct hd_cause *out,
                        struct hd_text *t) {
    const struct hd_probe *p = &s->best[kind].probe;
    const struct hd_lock_seen *lock = hd_evidence_lock(p);
    out->share = (double)s->ns[kind] / (double)s->total_ns;
    if (kind != HD_CAUSE_CPU && kind != HD_CAUSE_STARVED) {
        out->syscall_nr = p->syscall_nr;
        memcpy(out->path, p->evidence.name, sizeof out->path);
        out->party = p->party;
        memcpy(out->peer, p->peer.name, sizeof out->peer);
    }
    if (kind == HD_CAUSE_CHILD) {
        out->child_pid = p->child.pid;
    }
    if (kind == HD_CAUSE_LOCK || kind == HD_CAUSE_GIL) {
        out->lock_address = lock->address;
        out->lock_owner = lock->owner;
        out->lock_kind = lock->gil ? HD_LOCK_UNKNOWN : lock->kind;
    }
    if (p->state == HD_RUN_GONE) {
        hd_text_str(t, no_sample);
    } else {
        hd_cause_say(t, s, kind, false);
    }
}

void hd_cause_decide(const struct hd_cause_sums *s, struct hd_cause *out) {
    enum hd_cause_kind kind = most_of(s);
    const uint64_t collected_ns = hd_cause_collected_ns(s);
    bool runs = kind == HD_CAUSE_CPU;
    struct hd_text t;
    *out =
        (struct hd_cause){.kind = (uint8_t)kind, .syscall_nr = HD_SYSCALL_NONE, .run_delay_ns = s->delay_ns};
    hd_text_init(&t, out->detail, sizeof out->detail);
    if (collected_ns > s->ns[kind] || (runs && is_half_of_cpu(s, HD_CAUSE_GC))) {
        decide_ran(s, HD_CAUSE_GC, least(collected_ns, s->total_ns), out, &t);
    } else if (s->ns[kind] == 0) {
        hd_text_str(&t, no_sample);
    } else if (runs && is_half_of_cpu(s, HD_CAUSE_UI)) {
        decide_ran(s, HD_CAUSE_UI, hd_cause_ran_ns(s, HD_CAUSE_UI), out, &t);
    } else {
        decide_wait(s, kind, out, &t);
    }
}
