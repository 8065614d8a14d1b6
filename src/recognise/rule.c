/* SPDX-License-Identifier: MIT */
#include "recognise/rule.h"

#include <string.h>

/* A plain group is a candidate once it has had so many waits, of so much time in all. */
#define LOOP_WAITS 3
#define LOOP_NS (100 * HD_NS_PER_MS)
#define CERTAIN_NS (10 * HD_NS_PER_S)
#define LONG_TURN_NS (200 * HD_NS_PER_MS)
#define OUTSIDE_FRAMES 4 /* a call site with so many frames fewer is outside; wrappers differ by less */
/* Another group can succeed a loop that has not waited for so long. The longer time is for a plain group
 * after a loop with evidence. */
#define ABSENT_NS (10 * HD_NS_PER_S)
#define ABSENT_LONG_NS (60 * HD_NS_PER_S)

/* ---- groups ---------------------------------------------------------------------------------- */

void hd_rule_init(struct hd_rule_state *r) {
    memset(r, 0, sizeof *r);
    r->loop = HD_RULE_NONE;
}

/* Takes a free slot, or that of the group that waited least; never the loop's. */
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
                                                .files = {.common = w->set, .fewest = w->set.count},
                                                .sites.own = w->at};
    return lightest;
}

/* The group's own call site waits again, and so may the same loop. It waits for some of the same files, for
 * others once those are closed, or for a new epoll instance. A batch program waits at one call site for one
 * socket after the other: those share no file. */
static bool is_at_its_call_site(const struct hd_rule_group *g, const struct hd_wait_seen *w) {
    return w->at.stack_hash != 0 && g->sites.own.stack_hash == w->at.stack_hash &&
           (g->files.closed || hd_set_share(&g->files.common, &w->set) ||
            (hd_set_is_epoll(&g->files.common) && hd_set_is_epoll(&w->set)));
}

/* The wait is for all files that the group's waits have in common, and for no fewer files than any of them. A
 * blocking call may be for the one file that a changing set has kept; it is not the group's. */
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
    /* A blocking call's set may be a part of the loop's, but at the loop's own call site only the loop waits.
     * Each epoll instance is a group of its own, until a new one waits at its call site. */
    if (by_site != HD_RULE_NONE && (by_set == HD_RULE_NONE || !hd_set_is_epoll(&w->set))) {
        return by_site;
    }
    /* A wait for all of the loop's files is the loop's, even if a blocking call's group shares more files
     * with it. */
    if (r->loop != HD_RULE_NONE && !hd_set_is_epoll(&w->set) && is_for_its_files(&r->group[r->loop], w)) {
        return r->loop;
    }
    return by_set != HD_RULE_NONE ? by_set : new_group(r, w);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Two coroutine stacks of unknown base may be the same or not. */
static bool on_one_stack(const struct hd_call_site *a, const struct hd_call_site *b) {
    return a->stack_base == b->stack_base && a->stack_base != HD_BASE_UNKNOWN;
}

/* `at` is farther from the root than `own`, by its stack pointer or by its frames. Frames count too, since a
 * function that waits may have a wide frame. */
static bool is_deeper(const struct hd_call_site *own, const struct hd_call_site *at) {
    if (!on_one_stack(own, at)) {
        return own->stack_base == 0;
    }
    return at->sp < own->sp || (own->depth != 0 && at->depth > own->depth);
}

/* On two stacks: `own` is a coroutine's, and `at` is the thread's own, or a third stack, which has no order
 * with it. */
static bool is_nearer(const struct hd_call_site *own, const struct hd_call_site *at) {
    if (!on_one_stack(own, at)) {
        return own->stack_base != 0;
    }
    return at->sp > own->sp && at->depth <= own->depth;
}

/* A group nearer to the root has waited since wait number `before`. So the program has left the turn of
 * `own`. */
static bool was_left(const struct hd_rule_state *r, const struct hd_rule_group *own, uint64_t before) {
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        if (g->used && g != own && g->order.last_own > before && is_nearer(&own->sites.own, &g->sites.own)) {
            return true;
        }
    }
    return false;
}

/* The group's own call site waits again. Return is proof: each deeper group that waited since then, and not
 * before the group did, was inside its turn. Of two call sites that alternate, the first to wait is the outer
 * one. */
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

/* If the program has left a group's turn, and the group has not waited since, it may be over: it counts as
 * plain. */
static int evidence_now(const struct hd_rule_state *r, const struct hd_rule_group *g, uint64_t now_ns) {
    bool over = is_absent(g, ABSENT_NS, now_ns) && was_left(r, g, g->order.last_own);
    return g->evidence < HD_WAIT_EVIDENCE_PLAIN || !over ? g->evidence : HD_WAIT_EVIDENCE_PLAIN;
}

static bool is_candidate(const struct hd_rule_group *g) {
    bool waits_often = g->sums.waits >= LOOP_WAITS && g->sums.waited_ns >= LOOP_NS;
    return g->used && g->seen && !g->returns.inner && !g->files.closed &&
           (g->evidence > HD_WAIT_EVIDENCE_PLAIN || (g->evidence == HD_WAIT_EVIDENCE_PLAIN && waits_often));
}

/* Of two candidates with evidence the one nearer to the root is better: the other waits inside its turn. */
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

/* A long transfer in a callback looks like a loop that begins after start-up's transfers. So a loop that can
 * still return gets time to do so. A loop whose files are closed cannot return. It gives way at once, but to
 * a deeper group only after ABSENT_NS, since that may be inside the loop's last turn. */
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

/* The loop has waited: it may be certain now. */
static void make_certain(struct hd_rule_state *r, uint64_t now_ns) {
    const struct hd_rule_group *g = &r->group[r->loop];
    bool aged = now_ns - r->since_ns >= CERTAIN_NS;
    r->outside.recently &= !aged;
    r->certain |=
        aged || (g->evidence > HD_WAIT_EVIDENCE_PLAIN && g->returns.returned && !r->outside.recently);
}

/* Without a certain loop this is a batch program, which closes one connection and opens the next. */
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

/* A known function runs the loop to its end. The program has left the loop once it waits without that
 * function on the stack; a callback's wait has it there. */
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
    if (f->common.count == 0) { /* all files are new */
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
    if (w->set.count > 0) { /* a sleep leaves the set as it is */
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

/* A call site nearer to the root than the loop's wait, by several frames, is not inside a callback. Either
 * the thread idles there between two uses of the loop: in accept, in a condition variable, asleep. Or the
 * program pumps the loop and works in between; the loop is certain again after 10 s without such a block. */
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
