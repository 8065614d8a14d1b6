/* SPDX-License-Identifier: MIT */
#include "cause/weighing.h"

#include <string.h>

#include "cause/rows.h"
#include "os/syscall_table.h"

/* ---- the majority vote, which finds the call that a sentence names --------------------------------- */

/* Returns a number for the object that the thread waits for: a lock's address, or the kind of a
 * descriptor. */
static uint64_t object_of(const struct hd_probe *p) {
    return p->evidence.kind == HD_EVIDENCE_LOCK ? p->evidence.lock.address : hd_evidence_fd_kind(p);
}

static bool same_wait(const struct hd_probe *a, const struct hd_probe *b) {
    return a->syscall_nr == b->syscall_nr && a->peer.request == b->peer.request &&
           object_of(a) == object_of(b) &&
           strncmp(a->evidence.name, b->evidence.name, sizeof a->evidence.name) == 0 &&
           strncmp(a->peer.name, b->peer.name, sizeof a->peer.name) == 0;
}

static bool same_party(const struct hd_party_seen *a, const struct hd_party_seen *b) {
    return a->role == b->role && a->pid == b->pid && strncmp(a->name, b->name, sizeof a->name) == 0;
}

/* Adds `ns` to the majority vote that finds the owner of a lock. The vote that finds the blocked call does
 * not find the owner, because a lock may change its owner between two samples. */
static void add_owner(struct hd_cause_best *best, uint64_t ns, hd_thread_id owner) {
    struct hd_lock_seen *kept = &best->probe.evidence.lock;
    if (hd_thread_id_is_none(owner)) {
        return;
    }
    bool first = hd_thread_id_is_none(kept->owner), same = hd_thread_id_equal(kept->owner, owner);
    best->several |= !first && !same;
    if (same) {
        best->who_ns += ns;
    } else if (first || ns > best->who_ns) {
        best->who_ns = first ? ns : ns - best->who_ns;
        kept->owner = owner;
    } else {
        best->who_ns -= ns;
    }
}

/* Keeps in *best the child that the thread waited for longest without a break. Children need no majority
 * vote, because a thread waits for one child after the other. */
static void add_child(struct hd_cause_best *best, uint64_t ns, const struct hd_child_seen *child) {
    struct hd_child_seen *kept = &best->probe.child;
    if (child->pid == 0) {
        return;
    }
    best->several |= kept->pid != 0 && kept->pid != child->pid;
    best->newest_ns = best->newest_child == child->pid ? best->newest_ns + ns : ns;
    best->newest_child = child->pid;
    if (kept->pid == 0 || best->newest_ns > best->who_ns) {
        best->who_ns = best->newest_ns;
        kept->pid = child->pid;
        memcpy(kept->name, child->name, sizeof kept->name);
    }
}

static void add_time(struct hd_cause_sums *s, enum hd_cause_kind kind, uint64_t ns,
                     const struct hd_probe *p) {
    struct hd_cause_best *best = &s->best[kind];
    bool first = s->ns[kind] == 0;
    if (ns == 0) {
        return;
    }
    s->ns[kind] += ns;
    best->several_parties |= !first && !same_party(&best->probe.party, &p->party);
    if (!first && same_wait(&best->probe, p)) {
        best->lead_ns += ns;
        best->since_ns += ns;
        if (best->probe.party.role == HD_PARTY_NONE) {
            best->probe.party = p->party; /* a later sample of the call found the party */
        }
        if (kind == HD_CAUSE_CHILD) {
            add_child(best, ns, &p->child);
        } else {
            add_owner(best, ns, hd_evidence_lock(p)->owner);
        }
    } else if (first || ns > best->lead_ns) {
        best->lead_ns = first ? ns : ns - best->lead_ns;
        best->since_ns = best->who_ns = best->newest_ns = ns;
        best->newest_child = p->child.pid;
        best->several = false;
        best->probe = *p;
    } else {
        best->lead_ns -= ns;
    }
}

/* ---- one sample --------------------------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns the sample that names the call of a blocked thread. After SIGSTOP and SIGCONT, the kernel shows a
 * blocked call that has a time-out as restart_syscall, without the call's arguments. In that case an earlier
 * sample names the call. */
static const struct hd_probe *call_of(struct hd_cause_sums *s, const struct hd_probe *p) {
    if (!hd_syscall_is_restart(p->syscall_nr) || s->call.for_ns == 0) {
        s->call = *p;
    }
    return &s->call;
}

/* Returns the time that the thread waited for a CPU, or 0 where the kernel's value cannot be true. When the
 * kernel moves a sleeping thread to another CPU, it sometimes counts the whole sleep as time of waiting for a
 * CPU. In that case the value of a blocked thread is larger than the time that the sample stands for. */
static uint64_t delay_of(const struct hd_probe *p) {
    bool blocked = p->state == HD_RUN_BLOCKED || p->state == HD_RUN_UNINTERRUPTIBLE;
    return blocked && p->delay_ns > p->for_ns + p->for_ns / 8 + 5 * HD_NS_PER_MS ? 0 : p->delay_ns;
}

static void add_running(struct hd_cause_sums *s, uint64_t ns, const struct hd_probe *p) {
    add_time(s, HD_CAUSE_CPU, ns, p);
    hd_cause_add_code(p, ns, s->ran_ns);
}

/* Corrects the sums of earlier samples by the kernel's scheduling statistics, which come late. The kernel
 * updates these statistics when it switches threads, not while a thread runs or waits for a CPU. So if a
 * value grows by more than this sample's time, the excess belongs to an earlier sample. Without proof,
 * hd_cause_add counted that earlier sample's time as time on a CPU. */
static void confirm(struct hd_cause_sums *s, const struct hd_probe *p, uint64_t late_delay_ns,
                    uint64_t late_cpu_ns) {
    uint64_t ns = least(late_delay_ns, s->assumed_ns);
    if (ns != 0) {
        s->assumed_ns -= ns;
        s->ns[HD_CAUSE_CPU] -= ns;
        s->delay_ns += ns;
        add_time(s, HD_CAUSE_STARVED, ns, p);
    }
    s->assumed_ns -= least(late_cpu_ns, s->assumed_ns);
}

void hd_cause_add(struct hd_cause_sums *s, const struct hd_probe *p) {
    uint64_t all_delay_ns = delay_of(p);
    uint64_t delay_ns = least(all_delay_ns, p->for_ns);
    uint64_t cpu_ns = least(p->cpu_ns, p->for_ns - delay_ns);
    uint64_t rest_ns = p->for_ns - delay_ns - cpu_ns;
    const struct hd_probe *call;
    s->total_ns += p->for_ns;
    s->delay_ns += delay_ns;
    s->collector = p->collector != HD_COLLECTOR_NONE ? p->collector : s->collector;
    add_time(s, HD_CAUSE_STARVED, delay_ns, p);
    add_running(s, cpu_ns, p);
    confirm(s, p, all_delay_ns - delay_ns, p->cpu_ns - cpu_ns);
    switch ((enum hd_run_state)p->state) {
    case HD_RUN_RUNNING:
    case HD_RUN_RUNNABLE:
        add_running(s, rest_ns, p);
        s->assumed_ns += rest_ns;
        break;
    case HD_RUN_BLOCKED:
    case HD_RUN_UNINTERRUPTIBLE:
        call = call_of(s, p);
        add_time(s, hd_cause_of_block(call), rest_ns, call);
        break;
    case HD_RUN_STOPPED:
    case HD_RUN_GONE:
        add_time(s, HD_CAUSE_UNKNOWN, rest_ns, p);
        break;
    }
}

/* ---- all samples -------------------------------------------------------------------------------- */

void hd_cause_limit(struct hd_cause_sums *s, uint64_t total_ns) {
    uint64_t sum_ns = 0;
    s->total_ns = least(s->total_ns, total_ns);
    s->delay_ns = least(s->delay_ns, total_ns);
    for (int i = 0; i < HD_CAUSE_KINDS; i++) {
        s->ns[i] = least(s->ns[i], total_ns);
        sum_ns += s->ns[i];
    }
    if (sum_ns > total_ns) {
        double part = (double)total_ns / (double)sum_ns;
        s->delay_ns = (uint64_t)((double)s->delay_ns * part);
        for (int i = 0; i < HD_CAUSE_KINDS; i++) {
            s->ns[i] = (uint64_t)((double)s->ns[i] * part);
            s->ran_ns[i] = (uint64_t)((double)s->ran_ns[i] * part);
        }
    }
    s->assumed_ns = least(s->assumed_ns, s->ns[HD_CAUSE_CPU]); /* confirm() takes it from there */
}

void hd_cause_forget_paths(struct hd_cause_sums *s) {
    for (int i = 0; i < HD_CAUSE_KINDS; i++) {
        struct hd_probe *p = &s->best[i].probe;
        p->peer.name[0] = p->evidence.name[0] = '\0';
        bool address = p->party.role == HD_PARTY_SERVER && p->party.pid == 0;
        if (p->party.role == HD_PARTY_MOUNT || address) {
            p->party.name[0] = '\0';
        }
    }
}
