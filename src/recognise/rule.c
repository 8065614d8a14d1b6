/* SPDX-License-Identifier: MIT */
#include "recognise/rule.h"

#include <string.h>

/* A group without evidence becomes a candidate for the loop after LOOP_WAITS or more waits that took LOOP_NS
 * or more in total. */
#define LOOP_WAITS 3
#define LOOP_NS (100 * HD_NS_PER_MS)
#define CERTAIN_NS (10 * HD_NS_PER_S)
#define LONG_TURN_NS (200 * HD_NS_PER_MS)
/* A call site is outside of the loop's turn if its stack has at least OUTSIDE_FRAMES frames fewer than the
 * stack of the loop's wait. A smaller difference may come from wrapper functions instead. */
#define OUTSIDE_FRAMES 4
/* After this time without a wait of the loop, another group may become the loop. If the loop has evidence and
 * the other group has none, the time is ABSENT_LONG_NS; otherwise it is ABSENT_NS. */
#define ABSENT_NS (10 * HD_NS_PER_S)
#define ABSENT_LONG_NS (60 * HD_NS_PER_S)

/* ---- groups ---------------------------------------------------------------------------------- */

void hd_rule_init(struct hd_rule_state *r) {
    memset(r, 0, sizeof *r);
    r->loop = HD_RULE_NONE;
}

/* Makes a group for the wait, and returns its index. If r->group has no free element, the new group replaces
 * the group with the shortest total time in waits, but never the loop's group. */
static uint32_t new_group(struct hd_rule_state *r, const struct hd_wait_seen *w) {
    uint32_t lightest = HD_RULE_NONE;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        if (!g->used) {
            lightest = i;
            break;
        }
        if (i != r->loop &&
            (lightest == HD_RULE_NONE || g->sums.waited_ns < r->group[lightest].sums.waited_ns)) {
            lightest = i;
        }
    }
    r->group[lightest] = (struct hd_rule_group){.used = true,
                                                .evidence = (int8_t)hd_wait_seen_evidence(w),
                                                .enclosed = w->stack.enclosed,
                                                .accepts = w->kinds.accepts,
                                                .files = {.common = w->set, .fewest = w->set.count},
                                                .sites.own = w->at};
    return lightest;
}

/* True if the wait comes from the group's own call site, and its files fit the group. They fit if the wait
 * shares a file with the group, or one of the two has no files. They also fit if the group's files are
 * closed, or the wait and the group are both for epoll instances. The call site by itself does not suffice,
 * because a batch program may wait at one call site for one socket after the other. */
static bool is_at_its_call_site(const struct hd_rule_group *g, const struct hd_wait_seen *w) {
    return w->at.stack_hash != 0 && g->sites.own.stack_hash == w->at.stack_hash &&
           (g->files.closed || hd_set_share(&g->files.common, &w->set) ||
            (hd_set_is_epoll(&g->files.common) && hd_set_is_epoll(&w->set)));
}

/* True if the wait is for all files that the group's waits have in common, and for no fewer files than any of
 * these waits. The number matters because a loop may change its files until its waits have only one file in
 * common. If a blocking call waits for only this file, its wait is not the loop's. */
static bool is_for_its_files(const struct hd_rule_group *g, const struct hd_wait_seen *w) {
    return g->files.common.count > 0 && w->set.count >= g->files.fewest &&
           hd_set_includes(&w->set, &g->files.common);
}

uint32_t hd_rule_group_of(struct hd_rule_state *r, const struct hd_wait_seen *w) {
    uint32_t by_set = HD_RULE_NONE;
    uint32_t by_site = HD_RULE_NONE;
    if (hd_wait_seen_evidence(w) == HD_WAIT_EVIDENCE_REQUEST) {
        return HD_RULE_NONE;
    }
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        bool more = by_set == HD_RULE_NONE || g->files.common.count > r->group[by_set].files.common.count;
        if (g->used && more && is_for_its_files(g, w)) {
            by_set = i;
        }
        if (g->used && is_at_its_call_site(g, w) && (by_site == HD_RULE_NONE || by_site != r->loop)) {
            by_site = i;
        }
    }
    if (w->set.count == 0) {
        return by_site;
    }
    /* A blocking call may wait for some of the loop's files, but not at the loop's own call site. So the call
     * site decides first. For a wait for an epoll instance, the set of files decides first: the wait joins
     * the group of this instance. If no group is for this instance, the call site decides. */
    if (by_site != HD_RULE_NONE && (by_set == HD_RULE_NONE || !hd_set_is_epoll(&w->set))) {
        return by_site;
    }
    /* A wait that fits the loop's files is the loop's. This is also true if the wait has more files in common
     * with the group of a blocking call. */
    if (r->loop != HD_RULE_NONE && !hd_set_is_epoll(&w->set) && is_for_its_files(&r->group[r->loop], w)) {
        return r->loop;
    }
    return by_set != HD_RULE_NONE ? by_set : new_group(r, w);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* True if both call sites are on the same stack. Two coroutine stacks count as different if the base of
 * neither is known. */
static bool on_one_stack(const struct hd_call_site *a, const struct hd_call_site *b) {
    return a->stack_base == b->stack_base && a->stack_base != HD_BASE_UNKNOWN;
}

/* True if call site `at` is farther from the root frame than `own`, by its stack pointer or by its number of
 * frames. If they are on two stacks, true if `own` is on the thread's own stack. The stack pointer by itself
 * does not suffice: the caller of epoll_wait may have a larger frame than all functions of a callback
 * together. */
static bool is_deeper(const struct hd_call_site *own, const struct hd_call_site *at) {
    if (!on_one_stack(own, at)) {
        return own->stack_base == 0;
    }
    return at->sp < own->sp || (own->depth != 0 && at->depth > own->depth);
}

/* True if call site `at` is nearer to the root frame than `own`, by its stack pointer, and its stack has no
 * more frames. If they are on two stacks, true if `own` is on a coroutine's stack. */
static bool is_nearer(const struct hd_call_site *own, const struct hd_call_site *at) {
    if (!on_one_stack(own, at)) {
        return own->stack_base != 0;
    }
    return at->sp > own->sp && at->depth <= own->depth;
}

/* True if the thread has made a wait of a group nearer to the root frame since the wait with number `before`.
 * The program has then left the turn of the group `own`. */
static bool was_left(const struct hd_rule_state *r, const struct hd_rule_group *own, uint64_t before) {
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        if (g->used && g != own && g->order.last_own > before && is_nearer(&own->sites.own, &g->sites.own)) {
            return true;
        }
    }
    return false;
}

/* Notes that the thread waits at the group's own call site again. `before` is the number of the thread's wait
 * there before this one. The return proves that deeper groups that waited in between are blocking calls in
 * this group's turn. It proves nothing if the program has left this turn in between. It also proves nothing
 * about a deeper group that first waited before this group. Of two groups that alternate, the first to wait
 * is the outer one. */
static void note_return(struct hd_rule_state *r, struct hd_rule_group *own, uint64_t before) {
    if (was_left(r, own, before)) {
        return;
    }
    own->returns.returned = true;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        struct hd_rule_group *g = &r->group[i];
        g->returns.inner |= g->used && g != own && g->order.last > before &&
                            g->order.first > own->order.first && is_deeper(&own->sites.own, &g->sites.last) &&
                            is_deeper(&own->sites.own, &g->sites.own);
    }
}

static void become(struct hd_rule_state *r, uint32_t loop, uint64_t now_ns) {
    r->loop = loop;
    r->certain = false;
    r->since_ns = now_ns;
    r->outside = (struct hd_rule_outside){.blocked = false};
    r->changes++;
}

static bool is_absent(const struct hd_rule_group *g, uint64_t ns, uint64_t now_ns) {
    return now_ns - g->last_ns >= ns;
}

/* Returns the evidence that a group has now. If the program has left the group's turn, and the group's last
 * wait ended ABSENT_NS or more ago, its loop may be over. If so, evidence for the loop counts as plain. */
static int evidence_now(const struct hd_rule_state *r, const struct hd_rule_group *g, uint64_t now_ns) {
    bool over = is_absent(g, ABSENT_NS, now_ns) && was_left(r, g, g->order.last_own);
    return g->evidence < HD_WAIT_EVIDENCE_PLAIN || !over ? g->evidence : HD_WAIT_EVIDENCE_PLAIN;
}

static bool is_candidate(const struct hd_rule_group *g) {
    bool waits_often = g->sums.waits >= LOOP_WAITS && g->sums.waited_ns >= LOOP_NS;
    return g->used && g->seen && !g->returns.inner && !g->files.closed &&
           (g->evidence > HD_WAIT_EVIDENCE_PLAIN || (g->evidence == HD_WAIT_EVIDENCE_PLAIN && waits_often));
}

/* True if group `a` is a better candidate for the loop than group `b`. If both have evidence, the one nearer
 * to the root frame is better, because the other waits inside its turn. If neither is nearer, the present
 * loop is better. In all other cases the group with more evidence is better, or with equal evidence the group
 * with more time in waits. */
static bool is_better(const struct hd_rule_state *r, const struct hd_rule_group *a,
                      const struct hd_rule_group *b, uint64_t now_ns) {
    const struct hd_rule_group *loop = r->loop != HD_RULE_NONE ? &r->group[r->loop] : NULL;
    if (a->evidence > HD_WAIT_EVIDENCE_PLAIN && b->evidence > HD_WAIT_EVIDENCE_PLAIN) {
        bool nearer = is_nearer(&b->sites.own, &a->sites.own);
        bool farther = is_nearer(&a->sites.own, &b->sites.own);
        if (nearer || farther || a == loop || b == loop) {
            return nearer || (!farther && a == loop);
        }
    }
    int by_a = evidence_now(r, a, now_ns), by_b = evidence_now(r, b, now_ns);
    return by_a != by_b ? by_a > by_b : a->sums.waited_ns > b->sums.waited_ns;
}

/* True if group `g` may become the loop in place of the present loop. A long transfer in a callback looks
 * like a new loop. So usually the present loop must have made no wait for ABSENT_NS or ABSENT_LONG_NS, and
 * `g` must have more time in waits. There are two exceptions. First, if the loop's files are closed, the loop
 * cannot wait again, so `g` may replace it at once. A deeper `g` needs ABSENT_NS even in this case, since it
 * may wait inside the loop's last turn. Second, if `g` has evidence, it may at once replace a loop without
 * evidence, or a loop that is deeper than `g`. But a deeper `g` never replaces a certain loop without
 * evidence. */
static bool may_succeed(const struct hd_rule_state *r, const struct hd_rule_group *g, uint64_t now_ns) {
    const struct hd_rule_group *old = &r->group[r->loop];
    bool absent = is_absent(old, ABSENT_NS, now_ns);
    if (old->files.closed) {
        return !is_deeper(&old->sites.own, &g->sites.own) || absent;
    }
    if (g->evidence > HD_WAIT_EVIDENCE_PLAIN && old->evidence == HD_WAIT_EVIDENCE_PLAIN) {
        return !r->certain || !is_deeper(&old->sites.own, &g->sites.own);
    }
    if (g->evidence > HD_WAIT_EVIDENCE_PLAIN && is_nearer(&old->sites.own, &g->sites.own)) {
        return true;
    }
    if (g->evidence == HD_WAIT_EVIDENCE_PLAIN && evidence_now(r, old, now_ns) > HD_WAIT_EVIDENCE_PLAIN) {
        absent = is_absent(old, ABSENT_LONG_NS, now_ns);
    }
    return absent && g->sums.waited_ns > old->sums.waited_ns;
}

static void select_loop(struct hd_rule_state *r, uint64_t now_ns) {
    uint32_t best = HD_RULE_NONE;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        if (is_candidate(&r->group[i]) &&
            (best == HD_RULE_NONE || is_better(r, &r->group[i], &r->group[best], now_ns))) {
            best = i;
        }
    }
    bool none = r->loop == HD_RULE_NONE || r->group[r->loop].returns.inner;
    if (best != HD_RULE_NONE && best != r->loop && (none || may_succeed(r, &r->group[best], now_ns))) {
        become(r, best, now_ns);
    } else if (none && r->loop != HD_RULE_NONE) {
        become(r, HD_RULE_NONE, now_ns);
    }
}

/* Called after a wait of the loop. Makes the loop certain if CERTAIN_NS have passed since r->since_ns. A loop
 * with evidence needs only a return to its own call site. This does not suffice if the thread has recently
 * been blocked outside of the loop's turns. */
static void make_certain(struct hd_rule_state *r, uint64_t now_ns) {
    const struct hd_rule_group *g = &r->group[r->loop];
    bool aged = now_ns - r->since_ns >= CERTAIN_NS;
    r->outside.recently &= !aged;
    r->certain |=
        aged || (g->evidence > HD_WAIT_EVIDENCE_PLAIN && g->returns.returned && !r->outside.recently);
}

/* This function does nothing while the loop is not certain, because a batch program without a loop also
 * closes one connection and opens the next. */
void hd_rule_closed(struct hd_rule_state *r) {
    if (r->loop != HD_RULE_NONE && r->certain) {
        r->group[r->loop].files.closed = true;
    }
}

static void add_evidence(struct hd_rule_group *g, const struct hd_wait_seen *w) {
    int8_t evidence = (int8_t)hd_wait_seen_evidence(w);
    g->evidence = evidence > g->evidence ? evidence : g->evidence;
    g->enclosed = w->stack.enclosed == g->enclosed ? g->enclosed : HD_ENCLOSED_UNKNOWN;
}

/* Notes whether the program has left the loop. If a known function (known_functions.h) runs the loop, this
 * function is also on the stack of each wait in a callback. So a wait without this function on its stack
 * shows that the program has left the loop. */
static void note_outside(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w) {
    if (r->loop == HD_RULE_NONE || group == r->loop) {
        r->outside.waited = false;
    } else if (w->stack.enclosed == HD_NOT_ENCLOSED) {
        const struct hd_rule_group *g = &r->group[r->loop];
        r->outside.waited |= g->enclosed == HD_ENCLOSED && g->sums.waits > 0;
    }
}

bool hd_rule_is_over(const struct hd_rule_state *r) {
    return r->loop != HD_RULE_NONE && (r->outside.waited || r->group[r->loop].files.closed);
}

void hd_rule_seen(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w, bool blocks,
                  uint64_t now_ns) {
    if (group != HD_RULE_NONE) {
        struct hd_rule_group *g = &r->group[group];
        g->seen |= blocks || r->loop == HD_RULE_NONE;
        g->last_ns = g->sums.waits == 0 ? now_ns : g->last_ns;
        add_evidence(g, w);
        select_loop(r, now_ns);
    }
    note_outside(r, group, w);
}

void hd_rule_waits_again(struct hd_rule_state *r, uint64_t now_ns) {
    struct hd_rule_group *g = r->loop != HD_RULE_NONE ? &r->group[r->loop] : NULL;
    if (g != NULL && g->sums.waits > 0 && !was_left(r, g, g->order.last_own)) {
        g->returns.returned = true;
        make_certain(r, now_ns);
    }
}

static void change_set(struct hd_group_files *f, const struct hd_set *set) {
    hd_set_intersect(&f->common, set);
    /* If the wait has no file in common with the group's earlier waits, the group waits for new files now.
     * They replace the old ones. */
    if (f->common.count == 0) {
        f->common = *set;
        f->fewest = set->count;
        f->closed = false;
    }
    f->fewest = set->count < f->fewest ? set->count : f->fewest;
}

static void add_sums(struct hd_rule_group *g, const struct hd_wait_seen *w) {
    const struct hd_wait_times *times = &w->times;
    g->returns.from_long_turn |=
        g->sums.waits > 0 && times->ended_ns > g->last_ns + times->waited_ns + LONG_TURN_NS;
    if (g->sums.waits == 0) {
        g->order.first = times->first != 0 ? times->first : times->order;
    }
    g->seen = true;
    g->sums.waited_ns += times->waited_ns;
    g->sums.waits += times->waits;
    g->returns.returned |= times->waits > 1;
    g->order.last = times->order;
    g->sites.last = w->at;
    g->last_ns = times->ended_ns;
}

void hd_rule_waited(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w) {
    uint64_t now_ns = w->times.ended_ns;
    note_outside(r, group, w);
    if (group == HD_RULE_NONE) {
        return;
    }
    struct hd_rule_group *g = &r->group[group];
    struct hd_call_site *own = &g->sites.own;
    /* A wait without descriptors leaves the group's set of files unchanged. */
    if (w->set.count > 0) {
        change_set(&g->files, &w->set);
    }
    add_evidence(g, w);
    add_sums(g, w);
    if (on_one_stack(own, &w->at) ? w->at.sp >= own->sp : w->at.stack_base == 0) {
        bool again = w->at.sp == own->sp && w->at.stack_hash != 0;
        uint64_t before = g->order.last_own;
        *own = w->at;
        g->order.last_own = w->times.order;
        if (again && before != 0) {
            note_return(r, g, before);
            if (group == r->loop) {
                r->since_ns = r->outside.blocked ? now_ns : r->since_ns;
                r->outside.blocked = false;
            }
        }
    }
    select_loop(r, now_ns);
    if (group == r->loop) {
        make_certain(r, now_ns);
    }
}

void hd_rule_idles_outside(struct hd_rule_state *r) {
    r->outside.blocked = r->outside.recently = true;
    r->certain = false;
}

/* If call site `at` is OUTSIDE_FRAMES or more nearer to the root frame than the loop's wait, the thread is
 * not blocked in a callback. One of two cases is true. In the first, the thread idles between two uses of the
 * loop: in accept, on a condition variable, or asleep. In the second, the program runs the loop turn by turn
 * and works between the turns. In this second case the loop becomes certain again, 10 s after its first wait
 * since the thread was last blocked there. */
void hd_rule_blocked_at(struct hd_rule_state *r, const struct hd_call_site *at) {
    const struct hd_call_site *own = r->loop != HD_RULE_NONE ? &r->group[r->loop].sites.own : NULL;
    if (own != NULL && own->stack_base == 0 && at->sp > own->sp && at->depth != 0 &&
        at->depth + OUTSIDE_FRAMES <= own->depth) {
        hd_rule_idles_outside(r);
    }
}

bool hd_rule_shares(const struct hd_rule_state *r, uint32_t group, const struct hd_set *set) {
    return group != HD_RULE_NONE && hd_set_share(&r->group[group].files.common, set);
}

enum hd_wait_verdict hd_rule_verdict(const struct hd_rule_state *r, uint32_t group) {
    if (r->loop == HD_RULE_NONE) {
        return HD_WAIT_UNKNOWN;
    }
    return group == r->loop ? HD_WAIT_IDLE : HD_WAIT_BUSY;
}

void hd_rule_overrule(struct hd_rule_state *r) {
    if (r->loop == HD_RULE_NONE) {
        become(r, 0, 0);
        r->certain = true;
    }
}
