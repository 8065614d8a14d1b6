/* SPDX-License-Identifier: MIT
 *
 * Worker: recognition of the loop's own wait. No allocation.
 */
#include "recognise.h"

#include <string.h>

#include "analysis/hash.h"
#include "interpose.h"
#include "monitor/held.h"
#include "objects.h"

/* A loop beyond doubt is doubted so often: another one may succeed it. Any other one also while nothing
 * waits: the thread may be blocked. */
#define SURE_EVERY_NS (10 * HD_NS_PER_S)
#define UNSURE_EVERY_NS (1 * HD_NS_PER_S)
/* A condition variable is waited for in two or three functions of libc, below the loop's own or in it. */
#define SAME_TURN_FRAMES 4

struct hd_waits *hd_waits_new(void) {
    struct hd_waits *t = hd_os_memory_take(sizeof *t + sizeof *t->recognition);
    if (t != NULL) {
        t->recognition = (struct hd_recognition *)(void *)(t + 1);
    }
    return t;
}

void hd_recognition_init(struct hd_recognition *g, const struct hd_record *record, uint64_t started_ns) {
    memset(g, 0, sizeof *g);
    g->started_ns = started_ns;
    hd_rule_init(&g->rule, started_ns);
    hd_chosen_init(&g->chosen, record->options.loop);
}

bool hd_recognise_due(void *waits, uint64_t now_ns) {
    struct hd_waits *t = waits;
    struct hd_recognition *g = t->recognition;
    if ((atomic_load_explicit(&t->left.between, memory_order_relaxed) & HD_LEFT_FRESH) != 0) {
        return true;
    }
    bool waited = atomic_load_explicit(&t->order, memory_order_relaxed) !=
                  atomic_load_explicit(&g->order, memory_order_relaxed);
    const struct hd_loop *loop = t->loop;
    if (loop == NULL) {
        return false; /* its watch just begins */
    }
    bool sure = atomic_load_explicit(&loop->sure, memory_order_relaxed);
    uint64_t looked_ns = atomic_load_explicit(&g->looked_ns, memory_order_relaxed);
    if (sure) {
        return waited && now_ns - looked_ns >= SURE_EVERY_NS;
    }
    return waited || looked_ns == 0 ||
           (atomic_load_explicit(&g->has_loop, memory_order_relaxed) &&
            now_ns - looked_ns >= UNSURE_EVERY_NS);
}

/* ---- what an identity waits for --------------------------------------------------------------- */

/* Of the interposed call, the innermost ones. */
static uint32_t own_frames(const struct hd_worker *k, const struct hd_left_stack *left, uint32_t count) {
    uint32_t own = 0;
    while (own + 1 < count && left->regs.sp + k->frames[own].at <= left->sp) {
        own++;
    }
    return own;
}

/* Whether the user says that it is the loop's. */
static bool fill_place(struct hd_recognition *g, struct hd_worker *k, const struct hd_left_stack *left,
                       struct hd_seen_wait *seen) {
    struct hd_walk walk;
    hd_unwind(k->unwinder, &left->regs, left->stack, left->regs.sp, left->bytes, 0, k->frames, HD_FRAMES_MAX,
              &walk);
    uint64_t hash = hd_hash(4, &left->regs.sp, sizeof left->regs.sp);
    for (uint32_t i = 1; i < walk.count; i++) {
        hash = hd_hash(hash, &k->frames[i].pc, sizeof k->frames[i].pc);
    }
    bool whole = walk.stop == HD_STOP_ROOT;
    seen->at.place = walk.count > 1 ? hash : 0;
    seen->at.depth = whole ? walk.count + walk.cut - own_frames(k, left, walk.count) : 0;
    if (left->elsewhere) {
        seen->at.base = whole ? left->regs.sp + k->frames[walk.count - 1].at : HD_BASE_UNKNOWN;
    }
    seen->asks = false;
    for (uint32_t i = 1; i < walk.count && !seen->asks; i++) {
        seen->asks = hd_request_reply_asks(&g->request_reply, &k->modules, k->frames[i].start);
    }
    return hd_chosen_on(&g->chosen) && hd_chosen_waits(&g->chosen, &k->modules, k->frames, walk.count);
}

static void resolve(struct hd_waits *t, struct hd_worker *k) {
    if ((atomic_load_explicit(&t->left.between, memory_order_relaxed) & HD_LEFT_FRESH) == 0) {
        return;
    }
    t->left.reading = atomic_exchange_explicit(&t->left.between, t->left.reading, memory_order_acq_rel) & 3;
    struct hd_left_stack *left = &t->left.stack[t->left.reading];
    struct hd_identity *id = &t->identity[left->identity % HD_IDENTITIES];
    struct hd_known_identity *known = &t->recognition->identity[left->identity % HD_IDENTITIES];
    struct hd_seen_wait seen = {.at.sp = left->sp};
    hd_objects_set(k, t->loop->tid, &left->objects, &seen.set);
    bool chosen = fill_place(t->recognition, k, left, &seen);
    if (left->uses == atomic_load_explicit(&id->uses, memory_order_seq_cst) && left->uses % 2 == 0) {
        *known = (struct hd_known_identity){
            .uses = left->uses, .known = true, .chosen = chosen, .objects = left->objects, .seen = seen};
        atomic_store_explicit(&id->resolved, 1, memory_order_seq_cst);
        if (atomic_load_explicit(&id->uses, memory_order_seq_cst) != left->uses) {
            atomic_store_explicit(&id->resolved, 0,
                                  memory_order_seq_cst); /* given away meanwhile: of another */
        }
    }
}

/* Whether anything of these that all waits of the loop are for is open. */
static bool is_open(const struct hd_rule_state *r, const struct hd_worker *k, int tid,
                    const struct hd_wait_objects *objects) {
    if (objects->epoll) {
        return hd_objects_epoll_open(k, tid, objects);
    }
    for (uint32_t i = 0; i < objects->fds && i < HD_WAIT_FDS; i++) {
        bool open = true;
        struct hd_set one = {.count = 1};
        one.object[0] = hd_object_of(k, tid, objects->fd[i], &open) & ~HD_OBJECT_EPOLL;
        if (open && hd_rule_shares(r, r->loop, &one)) {
            return true;
        }
    }
    return false;
}

/* A loop whose descriptors are closed, all of them, was made anew, or is over. */
static void note_gone(struct hd_waits *t, const struct hd_worker *k) {
    struct hd_recognition *g = t->recognition;
    bool any = false;
    for (uint32_t i = 0; i < HD_IDENTITIES && g->rule.loop != HD_RULE_NONE; i++) {
        const struct hd_known_identity *known = &g->identity[i];
        bool loops = known->known && known->seen.set.count > 0 &&
                     atomic_load_explicit(&t->identity[i].uses, memory_order_relaxed) == known->uses &&
                     atomic_load_explicit(&t->identity[i].verdict, memory_order_relaxed) == HD_WAIT_IDLE;
        if (loops && is_open(&g->rule, k, t->loop->tid, &known->objects)) {
            return;
        }
        any |= loops;
    }
    if (any) {
        hd_rule_gone(&g->rule);
    }
}

/* The thread compares numbers, and numbers are given anew: one connection after the other looks like one to
 * it. What waited since the last time is told of what its numbers mean now. */
static void look_again(struct hd_waits *t, const struct hd_worker *k) {
    for (uint32_t i = 0; i < HD_IDENTITIES; i++) {
        struct hd_known_identity *known = &t->recognition->identity[i];
        struct hd_set now;
        if (known->known && !known->objects.epoll &&
            atomic_load_explicit(&t->identity[i].waits, memory_order_relaxed) != known->waits &&
            hd_objects_set(k, t->loop->tid, &known->objects, &now)) {
            known->seen.set = now;
        }
    }
}

/* ---- the rule --------------------------------------------------------------------------------- */

/* Waits since the last time, in the order of each identity's last one: of all it is told when they ended by
 * the thread, since we may be late. `now`: now_ns in ticks. */
static void tell_rule(struct hd_waits *t, uint64_t now_ns, uint64_t now) {
    struct hd_recognition *g = t->recognition;
    uint64_t rate = atomic_load_explicit(&t->loop->ns_per_tick_32, memory_order_relaxed);
    uint64_t told = 0, last_ns = atomic_load_explicit(&g->looked_ns, memory_order_relaxed);
    for (uint32_t n = 0; n < HD_IDENTITIES; n++) { /* the thread goes on: each comes once, or next time */
        uint32_t next = HD_IDENTITIES;
        uint64_t next_order = UINT64_MAX;
        for (uint32_t i = 0; i < HD_IDENTITIES; i++) {
            uint64_t order = atomic_load_explicit(&t->identity[i].order, memory_order_relaxed);
            const struct hd_known_identity *known = &g->identity[i];
            bool new_waits =
                known->known &&
                atomic_load_explicit(&t->identity[i].waits, memory_order_relaxed) != known->waits &&
                atomic_load_explicit(&t->identity[i].uses, memory_order_relaxed) == known->uses;
            if (new_waits && order > told && order < next_order) {
                next = i;
                next_order = order;
            }
        }
        if (next == HD_IDENTITIES) {
            return;
        }
        struct hd_known_identity *known = &g->identity[next];
        const struct hd_identity *id = &t->identity[next];
        uint64_t waits = atomic_load_explicit(&id->waits, memory_order_acquire);
        uint64_t ticks = atomic_load_explicit(&id->ticks, memory_order_acquire);
        uint64_t first = atomic_load_explicit(&id->first_began, memory_order_acquire);
        uint64_t over = atomic_load_explicit(&id->over, memory_order_acquire);
        told = next_order;
        if (atomic_load_explicit(&id->uses, memory_order_relaxed) != known->uses) {
            continue; /* given away meanwhile: of another */
        }
        uint64_t ago_ns = over < now ? hd_ticks_to_ns(now - over, rate) : 0;
        last_ns =
            ago_ns < now_ns - last_ns ? now_ns - ago_ns : last_ns; /* the counter may run in a suspend */
        known->seen.first = first;
        uint32_t group = hd_rule_group_of(&g->rule, &known->seen);
        hd_rule_waited(&g->rule, group, &known->seen, hd_ticks_to_ns(ticks - known->ticks, rate),
                       waits - known->waits, next_order, last_ns);
        known->waits = waits;
        known->ticks = ticks;
    }
}

/* Time that the thread was off its processor and not in a wait of ours: in a futex, asleep, reading. Its
 * figures are as old as the thread: what they were at the first look does not count. */
static void tell_blocked(struct hd_waits *t, uint64_t now_ns) {
    struct hd_recognition *g = t->recognition;
    struct hd_loop *loop = t->loop;
    struct hd_target target = {.syscall_fd = -1, .schedstat_fd = -1, .status_fd = -1};
    struct hd_sched sched;
    struct hd_loop_view view;
    bool first = g->before_ns == 0;
    hd_loop_view(loop, &view);
    if (!first && (!view.running || atomic_load_explicit(&loop->waiting, memory_order_acquire) != NULL)) {
        return; /* in a wait: what of it counts is not known before it ends */
    }
    hd_target_open(&target, loop->tid);
    int rc = hd_capture_sched(&target, &sched);
    hd_target_close(&target);
    if (rc != 0) {
        return;
    }
    uint64_t waited = 0;
    for (uint32_t i = 0; i < HD_IDENTITIES; i++) {
        waited += atomic_load_explicit(&t->identity[i].ticks, memory_order_relaxed);
    }
    uint64_t rate = atomic_load_explicit(&loop->ns_per_tick_32, memory_order_relaxed);
    uint64_t known_ns = hd_ticks_to_ns(waited, rate) + sched.cpu_ns + sched.delay_ns;
    if (first) {
        g->before_ns = known_ns;
        g->started_ns = now_ns;
    }
    uint64_t rest_ns = now_ns - g->started_ns;
    known_ns -= g->before_ns;
    if (rest_ns < known_ns || rest_ns - known_ns < g->blocked_ns) {
        return;
    }
    hd_rule_blocked(&g->rule, rest_ns - known_ns - g->blocked_ns, now_ns);
    g->blocked_ns = rest_ns - known_ns;
}

static bool is_loops(struct hd_recognition *g, const struct hd_known_identity *known) {
    return hd_chosen_on(&g->chosen) ? known->chosen
                                    : hd_rule_group_of(&g->rule, &known->seen) == g->rule.loop;
}

static uint8_t verdict_on(struct hd_recognition *g, const struct hd_known_identity *known) {
    if (hd_chosen_on(&g->chosen)) {
        return !g->chosen.seen ? HD_WAIT_UNKNOWN : known->chosen ? HD_WAIT_IDLE : HD_WAIT_BUSY;
    }
    enum hd_verdict verdict = hd_rule_verdict(&g->rule, hd_rule_group_of(&g->rule, &known->seen));
    return verdict == HD_VERDICT_IDLE   ? HD_WAIT_IDLE
           : verdict == HD_VERDICT_BUSY ? HD_WAIT_BUSY
                                        : HD_WAIT_UNKNOWN;
}

/* What became known too late for marks: when the loop first waited (its launch ended there), and when it last
 * had (the turn began there). A later wait whose meaning nobody knows may have been the loop's as well. */
static void tell_what_was(struct hd_waits *t) {
    struct hd_recognition *g = t->recognition;
    struct hd_loop *loop = t->loop;
    uint64_t first = UINT64_MAX, last = 0, last_order = 0, unknown_order = 0;
    for (uint32_t i = 0; i < HD_IDENTITIES; i++) {
        const struct hd_known_identity *known = &g->identity[i];
        const struct hd_identity *id = &t->identity[i];
        uint64_t began = atomic_load_explicit(&id->first_began, memory_order_relaxed);
        uint64_t order = atomic_load_explicit(&id->order, memory_order_relaxed);
        if (!known->known || atomic_load_explicit(&id->uses, memory_order_relaxed) != known->uses) {
            unknown_order = order > unknown_order ? order : unknown_order;
        } else if (began != 0 && is_loops(g, known)) {
            first = began < first ? began : first;
            last = order > last_order ? atomic_load_explicit(&id->ended, memory_order_seq_cst) : last;
            last_order = order > last_order ? order : last_order;
        }
    }
    atomic_store_explicit(&loop->resumed, last_order > unknown_order ? last : 0, memory_order_release);
    if (first != UINT64_MAX && atomic_load_explicit(&loop->launched, memory_order_relaxed) == 0) {
        atomic_store_explicit(&loop->launched, first, memory_order_release);
    }
}

/* ---- turns that were over before the loop was known -------------------------------------------- */

/* Whether it was the loop's. Of what nobody knows each wait may have been that shares a descriptor with it.
 */
static bool was_the_loops(struct hd_waits *t, const struct hd_worker *k, uint32_t identity, uint32_t uses) {
    struct hd_recognition *g = t->recognition;
    const struct hd_known_identity *known = &g->identity[identity % HD_IDENTITIES];
    const struct hd_identity *id = &t->identity[identity % HD_IDENTITIES];
    if (known->known && known->uses == uses) {
        return is_loops(g, known);
    }
    struct hd_wait_objects objects = id->objects;
    struct hd_set set;
    hd_objects_set(k, t->loop->tid, &objects, &set);
    return atomic_load_explicit(&id->uses, memory_order_seq_cst) != uses ||
           hd_rule_shares(&g->rule, g->rule.loop, &set);
}

/* The loop is known for the first time: what lies between two of its waits was a turn, however long ago; what
 * lies before the first one that is its for certain was the launch, with its round trips.
 */
static void look_back(struct hd_waits *t, struct hd_worker *k) {
    struct hd_loop *loop = t->loop;
    uint64_t rate = atomic_load_explicit(&loop->ns_per_tick_32, memory_order_relaxed);
    uint64_t launched = atomic_load_explicit(&loop->launched, memory_order_relaxed), before = 0;
    /* the wait that goes on: read at once, since what follows takes a while */
    uint64_t since = atomic_load_explicit(&loop->waiting_since, memory_order_acquire);
    const _Atomic uint8_t *waiting = atomic_load_explicit(&loop->waiting, memory_order_acquire);
    bool waits = waiting != NULL && atomic_load_explicit(waiting, memory_order_acquire) == HD_WAIT_IDLE &&
                 atomic_load_explicit(&loop->waiting_since, memory_order_relaxed) == since;
    uint64_t now_ns = hd_os_now_ns(), now = hd_loop_ticks(loop);
    uint32_t count = atomic_load_explicit(&t->pasts, memory_order_acquire);
    for (uint32_t i = count >= HD_PAST_WAITS ? count - HD_PAST_WAITS + 1 : 0; i <= count; i++) {
        const struct hd_past_wait *past = &t->past[i % HD_PAST_WAITS];
        uint64_t began = atomic_load_explicit(&past->began, memory_order_relaxed);
        uint64_t ended = atomic_load_explicit(&past->ended, memory_order_relaxed);
        uint32_t identity = atomic_load_explicit(&past->identity, memory_order_relaxed);
        uint32_t uses = atomic_load_explicit(&past->uses, memory_order_relaxed);
        bool ours;
        if (i == count) {
            began = ended = since;
            ours = waits;
        } else if (atomic_load_explicit(&t->pasts, memory_order_acquire) - i >= HD_PAST_WAITS) {
            before = 0; /* overwritten meanwhile */
            continue;
        } else {
            ours = was_the_loops(t, k, identity, uses);
        }
        if (ours && before >= launched && before != 0 && began > before) {
            hd_worker_turn_was(k, ((const struct hd_watch *)(const void *)loop)->index,
                               now_ns - hd_ticks_to_ns(now - before, rate),
                               now_ns - hd_ticks_to_ns(now - began, rate));
        }
        before = ours ? ended : before;
    }
}

/* A wait on a set that the loop never had before was over before anybody knew that it was the loop's: the
 * turn ended when it began. */
static void tell_wait_was(struct hd_loop *loop, const struct hd_identity *id) {
    uint64_t ended = atomic_load_explicit(&id->ended, memory_order_seq_cst);
    uint64_t began = atomic_load_explicit(&id->began, memory_order_acquire);
    bool whole = began < ended && atomic_load_explicit(&id->ended, memory_order_acquire) == ended;
    if (whole && ended > atomic_load_explicit(&loop->waited_to, memory_order_relaxed)) {
        atomic_store_explicit(&loop->waited_from, began, memory_order_relaxed);
        atomic_store_explicit(&loop->waited_to, ended, memory_order_release);
    }
}

/* ---- verdicts --------------------------------------------------------------------------------- */

static uint32_t standing_of(const struct hd_rule_state *r) {
    return hd_rule_sure(r)      ? HD_RECORD_LOOP_SURE
           : !hd_rule_stands(r) ? HD_RECORD_NO_LOOP
           : hd_rule_returns(r) ? HD_RECORD_LOOP_RETURNS
                                : HD_RECORD_LOOP;
}

static void give_verdicts(struct hd_waits *t, struct hd_worker *k) {
    struct hd_recognition *g = t->recognition;
    struct hd_loop *loop = t->loop;
    bool changed = g->rule.changes != g->rule_changes;
    bool first = g->rule_changes == 0;
    if (changed) {
        g->rule_changes = g->rule.changes;
        tell_what_was(t);
        if (!first) {
            const struct hd_watch *w = (const struct hd_watch *)(const void *)loop;
            hd_held_void(k, w->index, w->generation);
            atomic_fetch_add_explicit(&loop->changes, 1, memory_order_release);
        }
    }
    for (uint32_t i = 0; i < HD_IDENTITIES; i++) {
        const struct hd_known_identity *known = &g->identity[i];
        struct hd_identity *id = &t->identity[i];
        if (!known->known || atomic_load_explicit(&id->uses, memory_order_seq_cst) != known->uses) {
            continue;
        }
        uint8_t byte = verdict_on(g, known);
        if (atomic_load_explicit(&id->verdict, memory_order_relaxed) != byte) {
            atomic_store_explicit(&id->verdict, byte, memory_order_seq_cst);
            if (atomic_load_explicit(&id->uses, memory_order_seq_cst) != known->uses) {
                atomic_store_explicit(&id->verdict, HD_WAIT_UNKNOWN, memory_order_seq_cst); /* of another */
            } else if (byte == HD_WAIT_IDLE && !changed) {
                tell_wait_was(loop, id);
            }
        }
    }
    if (changed) { /* a wait that ended before its verdict has told its end: now, if not before */
        tell_what_was(t);
        if (first) {
            look_back(t, k);
        }
    }
    bool sure = hd_rule_sure(&g->rule);
    atomic_store_explicit(&loop->lost, g->rule.loop == HD_RULE_NONE && g->rule.changes > 0,
                          memory_order_relaxed);
    atomic_store_explicit(&loop->sure, sure, memory_order_relaxed);
    bool returns = hd_rule_returns(&g->rule);
    atomic_store_explicit(&loop->returns, returns, memory_order_relaxed);
    atomic_store_explicit(&g->has_loop, g->rule.loop != HD_RULE_NONE, memory_order_relaxed);
    g->standing = standing_of(&g->rule);
}

/* A wait that goes on, if its meaning is known. */
static void tell_waiting(struct hd_waits *t) {
    struct hd_recognition *g = t->recognition;
    const _Atomic uint8_t *waiting = atomic_load_explicit(&t->loop->waiting, memory_order_acquire);
    for (uint32_t i = 0; waiting != NULL && i < HD_IDENTITIES; i++) {
        const struct hd_known_identity *known = &g->identity[i];
        if (waiting == &t->identity[i].verdict && known->known &&
            atomic_load_explicit(&t->identity[i].uses, memory_order_relaxed) == known->uses) {
            hd_rule_waiting(&g->rule, hd_rule_group_of(&g->rule, &known->seen));
        }
    }
}

/* By which the thread itself waits, about as deep as it is now, and not for a call's sake; -1: none. In a
 * callback of the loop it is deeper. */
static int32_t epoll_at(const struct hd_waits *t, uint32_t depth) {
    for (uint32_t i = 0; i < HD_IDENTITIES; i++) {
        const struct hd_known_identity *known = &t->recognition->identity[i];
        const struct hd_identity *id = &t->identity[i];
        if (known->known && known->objects.epoll && depth <= known->seen.at.depth + SAME_TURN_FRAMES &&
            known->objects.epoll_generation == hd_epoll_generation(known->objects.fd[0]) &&
            atomic_load_explicit(&id->uses, memory_order_relaxed) == known->uses &&
            atomic_load_explicit(&id->verdict, memory_order_relaxed) != HD_WAIT_BUSY) {
            return known->objects.fd[0];
        }
    }
    return -1;
}

void hd_recognise_blocked(struct hd_waits *t, struct hd_blocked *how) {
    struct hd_recognition *g = t->recognition;
    const struct hd_where at = {.sp = how->sp, .depth = how->depth};
    bool was = hd_rule_sure(&g->rule);
    if (how->in_turn && !how->served) {
        how->epoll = epoll_at(t, how->depth);
        return;
    }
    if (!hd_chosen_on(&g->chosen)) {
        if (how->served) {
            hd_rule_left(&g->rule);
        } else {
            hd_rule_blocked_at(&g->rule, &at);
        }
    }
    if (was && !hd_rule_sure(&g->rule)) {
        atomic_store_explicit(&t->loop->sure, false, memory_order_relaxed);
        g->standing = standing_of(&g->rule);
    }
}

void hd_recognise_end(struct hd_waits *t, struct hd_worker *k) {
    const struct hd_recognition *g = t->recognition;
    const struct hd_watch *w = (const struct hd_watch *)(const void *)t->loop;
    if (g->looked_ns != 0 && g->standing == HD_RECORD_NO_LOOP) {
        hd_held_void(k, w->index, g->generation);
    }
}

void hd_recognise(void *waits, struct hd_worker *k) {
    struct hd_waits *t = waits;
    struct hd_recognition *g = t->recognition;
    if (t->loop == NULL) {
        return; /* the main thread's watch just begins, or there was no memory for it: a named one was due */
    }
    uint64_t now_ns = hd_os_now_ns(), now = hd_loop_ticks(t->loop);
    uint64_t order = atomic_load_explicit(&t->order, memory_order_relaxed);
    resolve(t, k);
    if (hd_chosen_on(&g->chosen)) {
        if (g->chosen.seen) {
            hd_rule_overrule(&g->rule);
        }
    } else {
        note_gone(t, k);
        look_again(t, k);
        tell_blocked(t, now_ns);
        tell_rule(t, now_ns, now);
        if (order != atomic_load_explicit(&g->order, memory_order_relaxed)) {
            hd_rule_tick(&g->rule, now_ns); /* else this may be a hang of its: return decides */
        }
        tell_waiting(t);
    }
    give_verdicts(t, k);
    g->generation = ((const struct hd_watch *)(const void *)t->loop)->generation;
    atomic_store_explicit(&g->order, order, memory_order_relaxed);
    atomic_store_explicit(&g->looked_ns, now_ns, memory_order_relaxed);
    if (atomic_load_explicit(&k->monitor->stopping, memory_order_relaxed)) {
        hd_recognise_end(t, k);
    }
}
