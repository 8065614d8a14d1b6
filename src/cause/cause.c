/* SPDX-License-Identifier: MIT
 *
 * Why it hung: what each sample's time went to, summed by kind, and the kind with the most of it. Pure.
 * Worker code: may run while a hang is on; no allocation.
 */
#include "cause/cause.h"

#include "base/text.h"
#include "cause/sentence.h"
#include "os/syscall_table.h"

#include <string.h>
#include <sys/syscall.h>

/* ---- one sample --------------------------------------------------------------------------- */

/* A local service answers over a socket as a remote one does, and has a name; a child's end has none. */
static enum hd_cause_kind of_local_socket(const struct hd_probe *e) {
    return e->peer.display                          ? HD_CAUSE_UI
           : e->child.alive && e->peer.name[0] == 0 ? HD_CAUSE_CHILD
                                                    : HD_CAUSE_NETWORK;
}

/* The other end of a socket or pipe is waited for in a way that a signal ends. What is not waited for so is
 * the memory that is copied: a file's, mapped and not yet read, or swapped out. An ioctl waits for the
 * kernel, and so may a close; connect copies next to nothing, and looks for the path of a local socket. */
static bool waits_for_memory(const struct hd_probe *e) {
    enum hd_fd_kind kind = hd_evidence_fd_kind(e);
    return e->state == HD_RUN_UNINTERRUPTIBLE && e->syscall_nr != SYS_ioctl && e->syscall_nr != SYS_connect &&
           hd_syscall_object(e->syscall_nr) != HD_OBJECT_NONE &&
           (kind == HD_FD_INET || kind == HD_FD_UNIX || kind == HD_FD_PIPE);
}

static enum hd_cause_kind of_descriptor(const struct hd_probe *e) {
    if (waits_for_memory(e)) {
        return HD_CAUSE_PAGE_FAULT;
    }
    switch (hd_evidence_fd_kind(e)) {
    case HD_FD_FILE:
        return HD_CAUSE_DISK;
    case HD_FD_INET:
        return HD_CAUSE_NETWORK;
    case HD_FD_UNIX:
        return of_local_socket(e);
    case HD_FD_PIPE:
        return e->child.alive ? HD_CAUSE_CHILD : HD_CAUSE_UNKNOWN;
    case HD_FD_NONE:
    case HD_FD_EPOLL:
    case HD_FD_EVENT:
    case HD_FD_TTY:
    case HD_FD_OTHER:
    case HD_FD_PROCESS:
        break;
    }
    return e->state == HD_RUN_UNINTERRUPTIBLE ? HD_CAUSE_DISK : HD_CAUSE_UNKNOWN;
}

/* Who opens a pipe or a device may wait for somebody there, and a signal ends that wait: no disk is waited
 * for so, and where a server has the files (FUSE), it has none of these. */
static enum hd_cause_kind of_file(const struct hd_probe *e) {
    enum hd_fd_kind kind = hd_evidence_fd_kind(e);
    bool none = kind == HD_FD_PIPE || kind == HD_FD_TTY || kind == HD_FD_OTHER;
    return none && e->state != HD_RUN_UNINTERRUPTIBLE ? of_descriptor(e) : HD_CAUSE_DISK;
}

static enum hd_cause_kind of_any_descriptor(const struct hd_probe *e) {
    enum hd_fd_kind kind = hd_evidence_fd_kind(e);
    if (e->evidence.kind != HD_EVIDENCE_DESCRIPTOR) {
        return HD_CAUSE_SLEEP; /* poll(NULL, 0, ms): an old way to sleep */
    }
    if (kind == HD_FD_INET) {
        return HD_CAUSE_NETWORK;
    }
    if (kind == HD_FD_UNIX) {
        return of_local_socket(e);
    }
    return e->child.alive || kind == HD_FD_PROCESS ? HD_CAUSE_CHILD : HD_CAUSE_UNKNOWN;
}

static enum hd_cause_kind of_call(const struct hd_probe *e) {
    bool uninterruptible = e->state == HD_RUN_UNINTERRUPTIBLE;
    if (e->syscall_nr == HD_SYSCALL_NONE) {
        return uninterruptible ? HD_CAUSE_PAGE_FAULT : HD_CAUSE_UNKNOWN;
    }
    switch (hd_syscall_wait(e->syscall_nr)) {
    case HD_WAIT_DESCRIPTOR:
        return of_descriptor(e);
    case HD_WAIT_FILE:
        return of_file(e);
    case HD_WAIT_SOCKET:
        if (waits_for_memory(e)) {
            return HD_CAUSE_PAGE_FAULT;
        }
        return hd_evidence_fd_kind(e) == HD_FD_UNIX ? of_local_socket(e) : HD_CAUSE_NETWORK;
    case HD_WAIT_ANY:
        return of_any_descriptor(e);
    case HD_WAIT_TIME:
        return HD_CAUSE_SLEEP;
    case HD_WAIT_SIGNAL: /* with a child, the signal that is waited for is SIGCHLD */
        return e->child.alive ? HD_CAUSE_CHILD : HD_CAUSE_SLEEP;
    case HD_WAIT_CHILD:
        return HD_CAUSE_CHILD;
    case HD_WAIT_LOCK:
        return hd_evidence_lock(e)->gil          ? HD_CAUSE_GIL
               : e->collector == HD_COLLECTOR_V8 ? HD_CAUSE_GC /* its other threads work */
                                                 : HD_CAUSE_LOCK;
    case HD_WAIT_MEMORY:
        if (e->child.vforked) {
            return HD_CAUSE_CHILD;
        }
        return uninterruptible ? HD_CAUSE_PAGE_FAULT : HD_CAUSE_UNKNOWN;
    case HD_WAIT_OTHER:
        break;
    }
    return uninterruptible ? HD_CAUSE_DISK : HD_CAUSE_UNKNOWN;
}

bool hd_cause_waits_for_reply(const struct hd_probe *e) {
    return e->peer.request != NULL && hd_evidence_lock(e)->owner_tid == 0 &&
           (hd_syscall_wait(e->syscall_nr) == HD_WAIT_LOCK || hd_syscall_wait(e->syscall_nr) == HD_WAIT_ANY);
}

enum hd_cause_kind hd_cause_of_block(const struct hd_probe *e) {
    if (hd_cause_waits_for_reply(e)) {
        return e->peer.display ? HD_CAUSE_UI : HD_CAUSE_NETWORK;
    }
    return of_call(e);
}

/* What the call works on, as a number: a lock's address, a descriptor's kind. */
static uint64_t object_of(const struct hd_probe *p) {
    return p->evidence.kind == HD_EVIDENCE_LOCK ? p->evidence.lock.address : hd_evidence_fd_kind(p);
}

static bool same_wait(const struct hd_probe *a, const struct hd_probe *b) {
    return a->syscall_nr == b->syscall_nr && a->peer.request == b->peer.request &&
           object_of(a) == object_of(b) &&
           strncmp(a->evidence.name, b->evidence.name, sizeof a->evidence.name) == 0 &&
           strncmp(a->peer.name, b->peer.name, sizeof a->peer.name) == 0;
}

/* Among who owned the lock, by the same vote. */
static void add_owner(struct hd_cause_best *best, uint64_t ns, int32_t owner) {
    if (owner == 0) {
        return;
    }
    struct hd_lock_seen *kept = &best->probe.evidence.lock;
    best->several |= kept->owner_tid != 0 && kept->owner_tid != owner;
    if (kept->owner_tid == owner) {
        best->other_ns += ns;
    } else if (kept->owner_tid == 0 || ns > best->other_ns) {
        best->other_ns = kept->owner_tid == 0 ? ns : ns - best->other_ns;
        kept->owner_tid = owner;
    } else {
        best->other_ns -= ns;
    }
}

static void add_child(struct hd_cause_best *best, uint64_t ns, const struct hd_child_seen *child) {
    struct hd_child_seen *kept = &best->probe.child;
    if (child->pid == 0) {
        return;
    }
    best->several |= kept->pid != 0 && kept->pid != child->pid;
    best->run_ns = best->run_pid == child->pid ? best->run_ns + ns : ns;
    best->run_pid = child->pid;
    if (kept->pid == 0 || best->run_ns > best->other_ns) {
        best->other_ns = best->run_ns;
        kept->pid = child->pid;
        memcpy(kept->name, child->name, sizeof kept->name);
    }
}

/* Adds time to a kind and keeps the evidence that has most of it: a vote by weight, which keeps one
 * candidate. */
static void add_time(struct hd_cause_sums *s, enum hd_cause_kind kind, uint64_t ns,
                     const struct hd_probe *e) {
    if (ns == 0) {
        return;
    }
    struct hd_cause_best *best = &s->best[kind];
    bool first = s->ns[kind] == 0;
    s->ns[kind] += ns;
    if (!first && same_wait(&best->probe, e)) {
        best->ns += ns;
        if (kind == HD_CAUSE_CHILD) {
            add_child(best, ns, &e->child);
            return;
        }
        best->run_ns += ns;
        add_owner(best, ns, hd_evidence_lock(e)->owner_tid);
    } else if (first || ns > best->ns) {
        best->ns = first ? ns : ns - best->ns;
        best->other_ns = best->run_ns = ns;
        best->run_pid = e->child.pid;
        best->several = false;
        best->probe = *e;
    } else {
        best->ns -= ns;
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* What a blocked thread waits for. After a stop and a continue the kernel shows a wait with a time-out under
 * another name, and no arguments: it is still the call before. */
static const struct hd_probe *call_of(struct hd_cause_sums *s, const struct hd_probe *e) {
    if (e->syscall_nr == SYS_restart_syscall && s->call.for_ns != 0) {
        return &s->call;
    }
    s->call = *e;
    return &s->call;
}

/* The time without a CPU that a sample may stand for. The kernel sometimes counts a whole sleep as such,
 * where it moved the thread between CPUs as that fell asleep: then it says more than the time since the
 * sample, which found the thread blocked. */
static uint64_t delay_of(const struct hd_probe *e) {
    bool blocked = e->state == HD_RUN_BLOCKED || e->state == HD_RUN_UNINTERRUPTIBLE;
    return blocked && e->delay_ns > e->for_ns + e->for_ns / 8 + 5 * HD_NS_PER_MS ? 0 : e->delay_ns;
}

/* Time in which the thread ran. */
static void add_run(struct hd_cause_sums *s, uint64_t ns, const struct hd_probe *e) {
    add_time(s, HD_CAUSE_CPU, ns, e);
    s->gc_ns += e->collector != HD_COLLECTOR_NONE ? ns : 0;
    s->drawn_ns += e->evidence.kind == HD_EVIDENCE_TOOLKIT ? ns : 0;
}

void hd_cause_add(struct hd_cause_sums *s, const struct hd_probe *e) {
    uint64_t all_delay_ns = delay_of(e);
    uint64_t delay_ns = least(all_delay_ns, e->for_ns);
    uint64_t cpu_ns = least(e->cpu_ns, e->for_ns - delay_ns);
    uint64_t rest_ns = e->for_ns - delay_ns - cpu_ns;
    const struct hd_probe *call;
    s->total_ns += e->for_ns;
    add_time(s, HD_CAUSE_STARVED, delay_ns, e);
    add_run(s, cpu_ns, e);
    s->collector = e->collector != HD_COLLECTOR_NONE ? e->collector : s->collector;

    /* The kernel adds to its figures when it switches, not while a thread runs or waits to run: what exceeds
     * this sample belongs to an earlier one, whose rest was taken for running. */
    uint64_t late_delay_ns = least(all_delay_ns - delay_ns, s->assumed_ns);
    if (late_delay_ns != 0) {
        s->assumed_ns -= late_delay_ns;
        s->ns[HD_CAUSE_CPU] -= late_delay_ns;
        add_time(s, HD_CAUSE_STARVED, late_delay_ns, e);
    }
    s->delay_ns += delay_ns + late_delay_ns;
    s->assumed_ns -= least(e->cpu_ns - cpu_ns, s->assumed_ns);

    switch ((enum hd_run_state)e->state) {
    case HD_RUN_RUNNING:
    case HD_RUN_RUNNABLE:
        add_run(s, rest_ns, e);
        s->assumed_ns += rest_ns;
        break;
    case HD_RUN_BLOCKED:
    case HD_RUN_UNINTERRUPTIBLE:
        call = call_of(s, e);
        add_time(s, hd_cause_of_block(call), rest_ns, call);
        break;
    case HD_RUN_STOPPED:
    case HD_RUN_GONE:
        add_time(s, HD_CAUSE_UNKNOWN, rest_ns, e);
        break;
    }
}

void hd_cause_limit(struct hd_cause_sums *s, uint64_t total_ns) {
    s->total_ns = least(s->total_ns, total_ns);
    s->delay_ns = least(s->delay_ns, total_ns);
    for (int i = 0; i < HD_CAUSE_KINDS; i++) {
        s->ns[i] = least(s->ns[i], total_ns);
    }
}

void hd_cause_forget_paths(struct hd_cause_sums *s) {
    for (int i = 0; i < HD_CAUSE_KINDS; i++) {
        struct hd_probe *e = &s->best[i].probe;
        e->peer.name[0] = e->evidence.name[0] = '\0';
    }
}

static double share_of(const struct hd_cause_sums *s, uint64_t ns) {
    return (double)ns / (double)s->total_ns;
}

void hd_cause_decide(const struct hd_cause_sums *s, struct hd_cause *out) {
    enum hd_cause_kind kind = HD_CAUSE_UNKNOWN;
    struct hd_text t;
    memset(out, 0, sizeof *out);
    out->syscall_nr = HD_SYSCALL_NONE;
    out->run_delay_ns = s->delay_ns;
    for (int i = HD_CAUSE_KINDS - 1; i >= 0; i--) { /* among equals the first in the enum, the better known */
        if (i != HD_CAUSE_GC && s->ns[i] != 0 && s->ns[i] >= s->ns[kind]) {
            kind = (enum hd_cause_kind)i;
        }
    }
    out->kind = (uint8_t)kind;
    hd_text_init(&t, out->detail, sizeof out->detail);
    const uint64_t collected_ns = hd_cause_collected_ns(s);
    if (collected_ns > s->ns[kind] || (kind == HD_CAUSE_CPU && s->gc_ns > s->ns[kind] / 2)) {
        out->kind = HD_CAUSE_GC;
        out->share = share_of(s, least(collected_ns, s->total_ns));
        hd_cause_say(&t, s, HD_CAUSE_GC);
        return;
    }
    if (s->ns[kind] == 0) {
        hd_cause_say(&t, s, HD_CAUSE_KINDS);
        return;
    }
    if (kind == HD_CAUSE_CPU && s->drawn_ns > s->ns[kind] / 2) {
        out->kind = HD_CAUSE_UI;
        out->share = share_of(s, hd_cause_drawn_ns(s));
        hd_cause_say_drawing(&t, s);
        return;
    }
    const struct hd_probe *e = &s->best[kind].probe;
    out->share = share_of(s, s->ns[kind]);
    if (kind != HD_CAUSE_CPU && kind != HD_CAUSE_STARVED) {
        out->syscall_nr = e->syscall_nr;
        memcpy(out->path, e->evidence.name, sizeof out->path);
        memcpy(out->peer, e->peer.name, sizeof out->peer);
    }
    if (kind == HD_CAUSE_CHILD) {
        out->child_pid = e->child.pid;
    }
    if (kind == HD_CAUSE_LOCK || kind == HD_CAUSE_GIL) {
        const struct hd_lock_seen *lock = hd_evidence_lock(e);
        out->lock_address = lock->address;
        out->lock_owner_tid = lock->owner_tid;
        out->lock_kind = lock->gil ? HD_LOCK_UNKNOWN : lock->kind;
    }
    hd_cause_say(&t, s, e->state == HD_RUN_GONE ? HD_CAUSE_KINDS : kind);
}

/* ---- deadlocks ---------------------------------------------------------------------------- */

static int32_t owner_of(const struct hd_waits_for *edges, uint32_t count, int32_t tid) {
    for (uint32_t i = 0; i < count; i++) {
        if (edges[i].tid == tid) {
            return edges[i].owner;
        }
    }
    return 0;
}

void hd_cause_say_ring(struct hd_cause *c) {
    struct hd_text t;
    hd_text_init(&t, c->detail, sizeof c->detail);
    if (c->deadlock_count == 1) {
        hd_text_str(&t, "deadlock: the thread waits for a mutex that it has locked itself");
        return;
    }
    hd_text_str(&t, "deadlock: ");
    for (uint32_t i = 0; i < c->deadlock_count; i++) {
        hd_text_i64(&t, c->deadlock[i]);
        hd_text_str(&t, " -> ");
    }
    hd_text_i64(&t, c->deadlock[0]);
}

bool hd_cause_find_ring(struct hd_cause *c, const struct hd_waits_for *edges, uint32_t count, int32_t tid) {
    int32_t on_ring = tid;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count && on_ring != 0;
         i++) { /* after as many steps as there are edges: on it, if any */
        on_ring = owner_of(edges, count, on_ring);
    }
    if (on_ring == 0) {
        return false;
    }
    int32_t ring[HD_DEADLOCK_MAX], at = on_ring;
    do {
        if (n == HD_DEADLOCK_MAX || at == 0) {
            return false;
        }
        ring[n++] = at;
        at = owner_of(edges, count, at);
    } while (at != on_ring);
    memcpy(c->deadlock, ring, n * sizeof ring[0]);
    c->deadlock_count = n;
    hd_cause_say_ring(c);
    return true;
}
