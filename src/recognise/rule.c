/* SPDX-License-Identifier: MIT
 *
 * The rule. Pure; no allocation.
 */
#include "recognise/rule.h"

#include <string.h>

#define LOOP_WAITS 3
#define LOOP_NS (100 * HD_NS_PER_MS)
#define CERTAIN_NS (10 * HD_NS_PER_S)
#define LONG_TURN_NS (200 * HD_NS_PER_MS)
#define OUTSIDE_FRAMES 4                  /* fewer than the loop's wait: less is how a wait is wrapped */
#define ABSENT_NS (10 * HD_NS_PER_S)      /* a loop that has not waited for so long can be succeeded */
#define ABSENT_LONG_NS (60 * HD_NS_PER_S) /* the same, of a loop with evidence by a plain group */

/* ---- groups ---------------------------------------------------------------------------------- */

void hd_rule_init(struct hd_rule_state *r) {
    memset(r, 0, sizeof *r);
    r->loop = HD_RULE_NONE;
}

/* A free slot, else that of the group which waited least and is not the loop. */
static uint32_t new_group(struct hd_rule_state *r, const struct hd_seen_wait *w) {
    uint32_t lightest = HD_RULE_NONE;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        if (!g->used) {
            lightest = i;
            break;
        }
        if (i != r->loop && (lightest == HD_RULE_NONE || g->waited_ns < r->group[lightest].waited_ns)) {
            lightest = i;
        }
    }
    r->group[lightest] = (struct hd_rule_group){.used = true,
                                                .evidence = w->evidence,
                                                .enclosed = w->enclosed,
                                                .common = w->set,
                                                .least = w->set.count,
                                                .own = w->at};
    return lightest;
}

/* Exactly the group's place, and the same loop may well wait there: for some of the same descriptors, for
 * others when those are gone, or by an epoll instance made anew. One socket after the other from one place is
 * a batch program. */
static bool waits_there(const struct hd_rule_group *g, const struct hd_seen_wait *w) {
    return w->at.place != 0 && g->own.place == w->at.place &&
           (g->gone || hd_set_share(&g->common, &w->set) ||
            (hd_set_is_epoll(&g->common) && hd_set_is_epoll(&w->set)));
}

/* All that the group's waits have in common, and no fewer than any of them had: a call that blocks on the one
 * descriptor which a moving set kept is none of the group's. */
static bool waits_for_it(const struct hd_rule_group *g, const struct hd_seen_wait *w) {
    return g->common.count > 0 && w->set.count >= g->least && hd_set_includes(&w->set, &g->common);
}

uint32_t hd_rule_group_of(struct hd_rule_state *r, const struct hd_seen_wait *w) {
    uint32_t by_set = HD_RULE_NONE;
    uint32_t by_place = HD_RULE_NONE;
    if (w->evidence == HD_EVIDENCE_ASKS) {
        return HD_RULE_NONE;
    }
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        bool more = by_set == HD_RULE_NONE || g->common.count > r->group[by_set].common.count;
        if (g->used && more && waits_for_it(g, w)) {
            by_set = i;
        }
        if (g->used && waits_there(g, w) && (by_place == HD_RULE_NONE || by_place != r->loop)) {
            by_place = i;
        }
    }
    if (w->set.count == 0) {
        return by_place;
    }
    /* A blocking call's set may be part of the loop's; at the loop's own place only the loop waits. Of epoll
     * instances each is one of its own, until one takes another's place. */
    if (by_place != HD_RULE_NONE && (by_set == HD_RULE_NONE || !hd_set_is_epoll(&w->set))) {
        return by_place;
    }
    /* Who waits for all of the loop's serves it, whatever a blocking call once had of the rest. */
    if (r->loop != HD_RULE_NONE && !hd_set_is_epoll(&w->set) && waits_for_it(&r->group[r->loop], w)) {
        return r->loop;
    }
    return by_set != HD_RULE_NONE ? by_set : new_group(r, w);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Two stacks of unknown extent may be any. */
static bool on_one_stack(const struct hd_call_site *a, const struct hd_call_site *b) {
    return a->base == b->base && a->base != HD_BASE_UNKNOWN;
}

/* Further from the root: by its stack pointer, or by its frames, since a wait may have a wide frame of its
 * own. */
static bool is_deeper(const struct hd_call_site *own, const struct hd_call_site *at) {
    if (!on_one_stack(own, at)) {
        return own->base == 0;
    }
    return at->sp < own->sp || (own->depth != 0 && at->depth > own->depth);
}

static bool is_nearer(const struct hd_call_site *own, const struct hd_call_site *at) {
    if (!on_one_stack(own, at)) {
        return own->base != 0; /* on the thread's own stack, or on a third one, where any order is possible */
    }
    return at->sp > own->sp && at->depth <= own->depth;
}

/* A group nearer to the root waited since: this group's turn was over. */
static bool was_left(const struct hd_rule_state *r, const struct hd_rule_group *own, uint64_t before) {
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        if (g->used && g != own && g->last_own > before && is_nearer(&own->own, &g->own)) {
            return true;
        }
    }
    return false;
}

/* The group's own place waits again. Return is proof: every deeper group that waited since, and never before
 * it, was inside its turn. (Of two places that alternate, the one that waited first is the outer one.) */
static void note_return(struct hd_rule_state *r, struct hd_rule_group *own, uint64_t before) {
    if (was_left(r, own, before)) {
        return;
    }
    own->returned = true;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        struct hd_rule_group *g = &r->group[i];
        g->inner |= g->used && g != own && g->last > before && g->first > own->first &&
                    is_deeper(&own->own, &g->last_at) && is_deeper(&own->own, &g->own);
    }
}

static void become(struct hd_rule_state *r, uint32_t loop, uint64_t now_ns) {
    r->loop = loop;
    r->certain = false;
    r->since_ns = now_ns;
    r->left = r->was_left = r->outside = false;
    r->changes++;
}

static bool is_absent(const struct hd_rule_group *g, uint64_t ns, uint64_t now_ns) {
    return now_ns - g->last_ns >= ns;
}

/* One whose turn was left, and which has not waited since, may be over: it counts as plain. */
static int evidence_now(const struct hd_rule_state *r, const struct hd_rule_group *g, uint64_t now_ns) {
    bool over = is_absent(g, ABSENT_NS, now_ns) && was_left(r, g, g->last_own);
    return g->evidence < HD_EVIDENCE_PLAIN || !over ? g->evidence : HD_EVIDENCE_PLAIN;
}

static bool is_candidate(const struct hd_rule_group *g) {
    bool waits_often = g->waits >= LOOP_WAITS && g->waited_ns >= LOOP_NS;
    return g->used && g->seen && !g->inner && !g->gone &&
           (g->evidence > HD_EVIDENCE_PLAIN || (g->evidence == HD_EVIDENCE_PLAIN && waits_often));
}

/* Of two candidates. With evidence the one nearer to the root: the other waits in a call of its turn. */
static bool is_better(const struct hd_rule_state *r, const struct hd_rule_group *a,
                      const struct hd_rule_group *b, uint64_t now_ns) {
    const struct hd_rule_group *loop = r->loop != HD_RULE_NONE ? &r->group[r->loop] : NULL;
    if (a->evidence > HD_EVIDENCE_PLAIN && b->evidence > HD_EVIDENCE_PLAIN) {
        bool nearer = is_nearer(&b->own, &a->own), further = is_nearer(&a->own, &b->own);
        if (nearer || further || a == loop || b == loop) {
            return nearer || (!further && a == loop);
        }
    }
    int by_a = evidence_now(r, a, now_ns), by_b = evidence_now(r, b, now_ns);
    return by_a != by_b ? by_a > by_b : a->waited_ns > b->waited_ns;
}

/* A long transfer in a callback, and a loop that begins when the transfers of start-up are over, look alike.
 * So a loop that is there has time to return. One that is gone cannot return: it gives way to any that does
 * not look as if it were inside its last turn, and to that one in time. */
static bool may_succeed(const struct hd_rule_state *r, const struct hd_rule_group *g, uint64_t now_ns) {
    const struct hd_rule_group *old = &r->group[r->loop];
    bool absent = is_absent(old, ABSENT_NS, now_ns);
    if (old->gone) {
        return !is_deeper(&old->own, &g->own) || absent;
    }
    if (g->evidence > HD_EVIDENCE_PLAIN && old->evidence == HD_EVIDENCE_PLAIN) {
        return !r->certain || !is_deeper(&old->own, &g->own);
    }
    if (g->evidence > HD_EVIDENCE_PLAIN && is_nearer(&old->own, &g->own)) {
        return true;
    }
    if (g->evidence == HD_EVIDENCE_PLAIN && evidence_now(r, old, now_ns) > HD_EVIDENCE_PLAIN) {
        absent = is_absent(old, ABSENT_LONG_NS, now_ns);
    }
    return absent && g->waited_ns > old->waited_ns;
}

static void choose(struct hd_rule_state *r, uint64_t now_ns) {
    uint32_t best = HD_RULE_NONE;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        if (is_candidate(&r->group[i]) &&
            (best == HD_RULE_NONE || is_better(r, &r->group[i], &r->group[best], now_ns))) {
            best = i;
        }
    }
    bool none = r->loop == HD_RULE_NONE || r->group[r->loop].inner;
    if (best != HD_RULE_NONE && best != r->loop && (none || may_succeed(r, &r->group[best], now_ns))) {
        become(r, best, now_ns);
    } else if (none && r->loop != HD_RULE_NONE) {
        become(r, HD_RULE_NONE, now_ns);
    }
}

/* The loop itself has waited: is it certain now? */
static void make_certain(struct hd_rule_state *r, uint64_t now_ns) {
    const struct hd_rule_group *g = &r->group[r->loop];
    bool aged = now_ns - r->since_ns >= CERTAIN_NS;
    r->was_left &= !aged;
    r->certain |= aged || (g->evidence > HD_EVIDENCE_PLAIN && g->returned && !r->was_left);
}

/* One that is not certain is a batch program, which closes one connection for the next. */
void hd_rule_gone(struct hd_rule_state *r) {
    if (r->loop != HD_RULE_NONE && r->certain) {
        r->group[r->loop].gone = true;
    }
}

static void add_evidence(struct hd_rule_group *g, const struct hd_seen_wait *w) {
    g->evidence = w->evidence > g->evidence ? w->evidence : g->evidence;
    g->enclosed = w->enclosed == g->enclosed ? w->enclosed : HD_ENCLOSED_UNKNOWN;
}

/* A loop that a known function runs to its end is left once the thread waits where that function is not on
 * the stack. A callback's wait has it there. */
static void note_outside(struct hd_rule_state *r, uint32_t group, const struct hd_seen_wait *w) {
    if (r->loop == HD_RULE_NONE || group == r->loop) {
        r->outside = false;
    } else if (w->enclosed == HD_NOT_ENCLOSED) {
        const struct hd_rule_group *g = &r->group[r->loop];
        r->outside |= g->enclosed == HD_ENCLOSED && g->waits > 0;
    }
}

bool hd_rule_is_over(const struct hd_rule_state *r) {
    return r->loop != HD_RULE_NONE && (r->outside || r->group[r->loop].gone);
}

void hd_rule_seen(struct hd_rule_state *r, uint32_t group, const struct hd_seen_wait *w, bool blocks,
                  uint64_t now_ns) {
    if (group != HD_RULE_NONE) {
        struct hd_rule_group *g = &r->group[group];
        g->seen |= blocks || r->loop == HD_RULE_NONE;
        g->last_ns = g->waits == 0 ? now_ns : g->last_ns;
        add_evidence(g, w);
        choose(r, now_ns);
    }
    note_outside(r, group, w);
}

void hd_rule_waits_again(struct hd_rule_state *r, uint64_t now_ns) {
    struct hd_rule_group *g = r->loop != HD_RULE_NONE ? &r->group[r->loop] : NULL;
    if (g != NULL && g->waits > 0 && !was_left(r, g, g->last_own)) {
        g->returned = true;
        make_certain(r, now_ns);
    }
}

static void move_set(struct hd_rule_group *g, const struct hd_set *set) {
    hd_set_intersect(&g->common, set);
    if (g->common.count == 0) { /* made anew */
        g->common = *set;
        g->least = set->count;
        g->gone = false;
    }
    g->least = set->count < g->least ? set->count : g->least;
}

void hd_rule_waited(struct hd_rule_state *r, uint32_t group, const struct hd_seen_wait *w, uint64_t waited_ns,
                    uint64_t waits, uint64_t order, uint64_t now_ns) {
    note_outside(r, group, w);
    if (group == HD_RULE_NONE) {
        return;
    }
    struct hd_rule_group *g = &r->group[group];
    if (w->set.count > 0) { /* else it waits for nothing now */
        move_set(g, &w->set);
    }
    g->turned |= g->waits > 0 && now_ns > g->last_ns + waited_ns + LONG_TURN_NS;
    if (g->waits == 0) {
        g->first = w->first != 0 ? w->first : order;
    }
    add_evidence(g, w);
    g->seen = true;
    g->waited_ns += waited_ns;
    g->waits += waits;
    g->returned |= waits > 1;
    g->last = order;
    g->last_at = w->at;
    g->last_ns = now_ns;
    if (on_one_stack(&g->own, &w->at) ? w->at.sp >= g->own.sp : w->at.base == 0) {
        bool own = w->at.sp == g->own.sp && w->at.place != 0;
        uint64_t before = g->last_own;
        g->own = w->at;
        g->last_own = order;
        if (own && before != 0) {
            note_return(r, g, before);
            if (group == r->loop) {
                r->since_ns = r->left ? now_ns : r->since_ns;
                r->left = false;
            }
        }
    }
    choose(r, now_ns);
    if (group == r->loop) {
        make_certain(r, now_ns);
    }
}

void hd_rule_left(struct hd_rule_state *r) {
    r->left = r->was_left = true;
    r->certain = false;
}

/* Nearer to the root than the loop's own wait, and by fewer frames: not in a callback of its, but where the
 * thread idles when it has nothing to ask, in accept, in a condition variable, asleep. Or the program pumps
 * the loop, and works in between: then the loop is certain again after 10 s without. */
void hd_rule_blocked_at(struct hd_rule_state *r, const struct hd_call_site *at) {
    const struct hd_call_site *own = r->loop != HD_RULE_NONE ? &r->group[r->loop].own : NULL;
    if (own != NULL && own->base == 0 && at->sp > own->sp && at->depth != 0 &&
        at->depth + OUTSIDE_FRAMES <= own->depth) {
        hd_rule_left(r);
    }
}

bool hd_rule_shares(const struct hd_rule_state *r, uint32_t group, const struct hd_set *set) {
    return group != HD_RULE_NONE && hd_set_share(&r->group[group].common, set);
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
