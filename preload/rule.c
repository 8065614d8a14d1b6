/* SPDX-License-Identifier: MIT
 *
 * The rule. Pure; no allocation.
 */
#include "rule.h"

#include <string.h>

#define LOOP_WAITS 3
#define LOOP_NS (100 * HD_NS_PER_MS)
#define HALVE_NS (60 * HD_NS_PER_S)
#define DOUBT_NS (60 * HD_NS_PER_S)
#define SURE_NS (10 * HD_NS_PER_S)
#define SURE_WEIGHT_NS (1 * HD_NS_PER_S)
#define SURE_WAITS 5
#define LONG_TURN_NS (200 * HD_NS_PER_MS)
#define OUTSIDE_FRAMES 4                    /* fewer than the loop's wait: less is how a wait is wrapped */
#define ABSENT_NS (10 * HD_NS_PER_S)        /* a loop that has not waited for so long can be succeeded */
#define ABSENT_PROVEN_NS (60 * HD_NS_PER_S) /* the same, by a group that shows less than it does */

/* ---- sets ------------------------------------------------------------------------------------ */

void hd_set_add(struct hd_set *s, uint64_t object) {
    uint32_t at = 0;
    while (at < s->count && s->object[at] < object) {
        at++;
    }
    if ((at < s->count && s->object[at] == object) || at == HD_SET_OBJECTS) {
        return;
    }
    uint32_t moved = s->count - at - (s->count == HD_SET_OBJECTS);
    memmove(&s->object[at + 1], &s->object[at], moved * sizeof s->object[0]);
    s->object[at] = object;
    s->count += s->count < HD_SET_OBJECTS;
}

static bool includes(const struct hd_set *s, const struct hd_set *part) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        while (at < s->count && s->object[at] < part->object[i]) {
            at++;
        }
        if (at == s->count || s->object[at] != part->object[i]) {
            return false;
        }
    }
    return true;
}

static void intersect(struct hd_set *s, const struct hd_set *with) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct hd_set one = {.object = {s->object[i]}, .count = 1};
        if (includes(with, &one)) {
            s->object[kept++] = s->object[i];
        }
    }
    s->count = kept;
}

static bool share(const struct hd_set *a, const struct hd_set *b) {
    struct hd_set both = *a;
    intersect(&both, b);
    return both.count > 0 || a->count == 0 || b->count == 0;
}

static bool is_epoll(const struct hd_set *s) {
    return s->count == 1 && (s->object[0] & HD_OBJECT_EPOLL) != 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

void hd_rule_init(struct hd_rule_state *r, uint64_t now_ns) {
    memset(r, 0, sizeof *r);
    r->loop = HD_RULE_NONE;
    r->halved_ns = now_ns;
}

/* A free slot, else that of the lightest group which is not the loop: its time goes on to weigh. */
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
    if (r->group[lightest].used && !r->group[lightest].inner) {
        r->blocked_ns += r->group[lightest].waited_ns;
    }
    r->group[lightest] =
        (struct hd_rule_group){.used = true, .common = w->set, .least = w->set.count, .own = w->at};
    return lightest;
}

/* Exactly the group's place, and the same loop may well wait there: for some of the same descriptors, for
 * others when those are gone, or by an epoll instance made anew. One socket after the other from one place is
 * a batch program. */
static bool waits_there(const struct hd_rule_group *g, const struct hd_seen_wait *w) {
    return w->at.place != 0 && g->own.place == w->at.place &&
           (g->gone || share(&g->common, &w->set) || (is_epoll(&g->common) && is_epoll(&w->set)));
}

/* All that the group's waits have in common, and no fewer than any of them had: a call that blocks on the one
 * descriptor which a moving set kept is none of the group's. */
static bool waits_for_it(const struct hd_rule_group *g, const struct hd_seen_wait *w) {
    return g->common.count > 0 && w->set.count >= g->least && includes(&w->set, &g->common);
}

uint32_t hd_rule_group_of(struct hd_rule_state *r, const struct hd_seen_wait *w) {
    uint32_t by_set = HD_RULE_NONE;
    uint32_t by_place = HD_RULE_NONE;
    if (w->asks) {
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
    if (by_place != HD_RULE_NONE && (by_set == HD_RULE_NONE || !is_epoll(&w->set))) {
        return by_place;
    }
    /* Who waits for all of the loop's serves it, whatever a blocking call once had of the rest. */
    if (r->loop != HD_RULE_NONE && !is_epoll(&w->set) && waits_for_it(&r->group[r->loop], w)) {
        return r->loop;
    }
    return by_set != HD_RULE_NONE ? by_set : new_group(r, w);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Before a time is added that ended now: that is no older than this. */
static void halve(struct hd_rule_state *r, uint64_t now_ns) {
    while (now_ns > r->halved_ns && now_ns - r->halved_ns >= HALVE_NS) {
        r->halved_ns += HALVE_NS;
        r->blocked_ns /= 2;
        r->pending_ns /= 2;
        for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
            r->group[i].waited_ns /= 2;
        }
    }
}

/* Told at once, a time weighs no more than if it had been told each minute: that comes to twice a minute. */
static uint64_t limited(uint64_t ns) {
    return ns < 2 * HALVE_NS ? ns : 2 * HALVE_NS;
}

/* Two of which nobody knows where they begin may be any. */
static bool on_one_stack(const struct hd_where *a, const struct hd_where *b) {
    return a->base == b->base && a->base != HD_BASE_UNKNOWN;
}

/* Further from the root: by its stack pointer, or by its frames, since a wait may have a wide frame of its
 * own. */
static bool is_deeper(const struct hd_where *own, const struct hd_where *at) {
    if (!on_one_stack(own, at)) {
        return own->base == 0;
    }
    return at->sp < own->sp || (own->depth != 0 && at->depth > own->depth);
}

static bool is_nearer(const struct hd_where *own, const struct hd_where *at) {
    if (!on_one_stack(own, at)) {
        return own->base != 0; /* on the thread's own stack, or on a third one, of which nobody knows */
    }
    return at->sp > own->sp && at->depth <= own->depth;
}

/* Somebody waited since who is nearer to the root: the group's turn was over. */
static bool was_left(const struct hd_rule_state *r, const struct hd_rule_group *own, uint64_t before) {
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        if (g->used && g != own && g->last_own > before && is_nearer(&own->own, &g->own)) {
            return true;
        }
    }
    return false;
}

/* The group's own place waits again: every deeper group that waited since, and never before it, was inside
 * its turn. Return is proof. (Who waited first is the outer one where the places of two alternate.) A group
 * that did wait before it, but elsewhere, at least shows that this one has turns: a connection that start-up
 * used too. */
static void note_return(struct hd_rule_state *r, struct hd_rule_group *own, uint64_t before) {
    if (was_left(r, own, before)) {
        return;
    }
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        struct hd_rule_group *g = &r->group[i];
        if (!g->used || g == own || g->last <= before || !is_deeper(&own->own, &g->last_at)) {
            continue;
        }
        bool later = g->first > own->first && is_deeper(&own->own, &g->own);
        g->inner |= later;
        own->proven |= later || g->inner || g->last_own <= before;
    }
    own->proven |= r->groupless.order > before && is_deeper(&own->own, &r->groupless.at);
}

/* How long the thread was blocked, but for what is proven to have been inside a loop's turn. Against a group
 * that is proven to be a loop, only others of that kind weigh, and what was spent in no group. */
static uint64_t weighed_ns(const struct hd_rule_state *r, bool proven) {
    uint64_t sum_ns = r->blocked_ns;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        sum_ns += g->used && !g->inner && !g->gone && (g->proven || !proven) ? g->waited_ns : 0;
    }
    return sum_ns;
}

static void become(struct hd_rule_state *r, uint32_t loop, uint64_t now_ns) {
    r->loop = loop;
    r->sure = false;
    r->aged = false;
    r->since_ns = now_ns;
    r->doubted_ns = 0;
    r->pending_ns = 0;
    r->left = r->was_left = false;
    r->changes++;
}

/* The proven ones first, then by weight. */
static uint32_t best_group(const struct hd_rule_state *r) {
    uint32_t best = HD_RULE_NONE;
    for (uint32_t i = 0; i < HD_RULE_GROUPS; i++) {
        const struct hd_rule_group *g = &r->group[i];
        if (!g->used || g->inner || g->gone || g->waits < LOOP_WAITS || g->waited_ns < LOOP_NS) {
            continue;
        }
        const struct hd_rule_group *b = best != HD_RULE_NONE ? &r->group[best] : NULL;
        if (b == NULL || g->proven > b->proven || (g->proven == b->proven && g->waited_ns > b->waited_ns)) {
            best = i;
        }
    }
    return best;
}

/* A long transfer in a callback and a loop that begins when start-up's transfers are over look alike. So a
 * loop that there is has time to return; one that did is given more, and one that never did gives way to one
 * that did at once. One that is gone cannot return: it gives way to any that does not look as if it were
 * inside its last turn, and to that one in time. */
static bool may_succeed(const struct hd_rule_state *r, const struct hd_rule_group *g, uint64_t now_ns) {
    if (r->loop == HD_RULE_NONE || r->group[r->loop].inner) {
        return true;
    }
    const struct hd_rule_group *old = &r->group[r->loop];
    if (old->gone) {
        return !is_deeper(&old->own, &g->own) || now_ns - old->last_ns >= ABSENT_NS;
    }
    if (g->proven != old->proven) {
        return g->proven || (g->waited_ns > old->waited_ns && now_ns - old->last_ns >= ABSENT_PROVEN_NS);
    }
    return g->waited_ns > old->waited_ns && now_ns - old->last_ns >= ABSENT_NS;
}

static void choose(struct hd_rule_state *r, uint64_t now_ns) {
    uint32_t best = best_group(r);
    bool qualifies = best != HD_RULE_NONE && best != r->loop &&
                     r->group[best].waited_ns > weighed_ns(r, r->group[best].proven) / 2 &&
                     may_succeed(r, &r->group[best], now_ns);
    if (qualifies) {
        become(r, best, now_ns);
    } else if (r->loop != HD_RULE_NONE && r->group[r->loop].inner) {
        become(r, HD_RULE_NONE, now_ns);
    }
}

/* The loop's own place waits again: what the thread was blocked in since was inside its turn, if it did not
 * leave that. */
static void forgive(struct hd_rule_state *r, uint64_t now_ns) {
    r->blocked_ns -=
        r->was_left ? 0 : r->pending_ns; /* what of it was outside may be told later than its end */
    r->pending_ns = 0;
    r->since_ns = r->left ? now_ns : r->since_ns;
    r->left = false;
}

/* The loop itself has waited: is it sure now? */
static void make_sure(struct hd_rule_state *r, uint64_t now_ns) {
    const struct hd_rule_group *g = &r->group[r->loop];
    bool heavy = !r->was_left && hd_rule_returns(r) && g->waits >= SURE_WAITS &&
                 g->waited_ns >= SURE_WEIGHT_NS && g->waited_ns / 9 > weighed_ns(r, g->proven) / 10;
    r->aged |= r->doubted_ns == 0 && now_ns - r->since_ns >= SURE_NS;
    r->was_left &= !r->aged;
    r->sure |= r->aged || heavy;
}

/* One that is not sure is a batch program, which closes one connection for the next. */
void hd_rule_gone(struct hd_rule_state *r) {
    if (r->loop != HD_RULE_NONE && r->sure) {
        r->group[r->loop].gone = true;
    }
}

void hd_rule_waiting(struct hd_rule_state *r, uint32_t group) {
    if (group != HD_RULE_NONE && group != r->loop && !r->group[group].inner && !r->aged) {
        r->sure = false;
    }
}

bool hd_rule_stands(const struct hd_rule_state *r) {
    if (r->loop == HD_RULE_NONE || r->doubted_ns != 0) {
        return false;
    }
    const struct hd_rule_group *g = &r->group[r->loop];
    return r->sure || g->waited_ns > (weighed_ns(r, g->proven) - r->pending_ns / 2) / 2;
}

/* A loop that is not sure comes into doubt while the thread is blocked elsewhere for longer than it ever
 * waited: another kind of loop may be at work (a condition variable: Tk), or this is a long hang. Return
 * decides. */
void hd_rule_tick(struct hd_rule_state *r, uint64_t now_ns) {
    halve(r, now_ns);
    if (r->loop == HD_RULE_NONE || r->sure) {
        return;
    }
    const struct hd_rule_group *g = &r->group[r->loop];
    if (g->waited_ns > weighed_ns(r, g->proven) / 2) {
        r->doubted_ns = 0;
        return;
    }
    r->doubted_ns = r->doubted_ns != 0 ? r->doubted_ns : now_ns;
    r->since_ns = now_ns;
    if (now_ns - r->doubted_ns > DOUBT_NS) {
        become(r, HD_RULE_NONE, now_ns);
    }
}

void hd_rule_waited(struct hd_rule_state *r, uint32_t group, const struct hd_seen_wait *w, uint64_t waited_ns,
                    uint64_t waits, uint64_t order, uint64_t now_ns) {
    if (group == HD_RULE_NONE) {
        r->groupless.order = order;
        r->groupless.at = w->at;
        hd_rule_blocked(r, w->asks ? 0 : waited_ns, now_ns);
        return;
    }
    struct hd_rule_group *g = &r->group[group];
    halve(r, now_ns);
    if (w->set.count > 0) { /* else it waits for nothing now */
        intersect(&g->common, &w->set);
        if (g->common.count == 0) { /* made anew */
            g->common = w->set;
            g->least = w->set.count;
            g->gone = false;
        }
        g->least = w->set.count < g->least ? w->set.count : g->least;
    }
    g->turned |= g->waits > 0 && now_ns > g->last_ns + waited_ns + LONG_TURN_NS;
    if (g->waits == 0) {
        g->first = w->first != 0 ? w->first : order;
    }
    g->waited_ns += limited(waited_ns);
    g->waits += waits;
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
                forgive(r, now_ns);
            }
        }
    }
    hd_rule_waiting(r, group);
    choose(r, now_ns);
    hd_rule_tick(r, now_ns);
    if (group == r->loop) {
        make_sure(r, now_ns);
    }
}

void hd_rule_blocked(struct hd_rule_state *r, uint64_t ns, uint64_t now_ns) {
    halve(r, now_ns);
    ns = limited(ns);
    r->blocked_ns += ns;
    r->pending_ns += r->loop != HD_RULE_NONE ? ns : 0;
}

void hd_rule_left(struct hd_rule_state *r) {
    r->left = r->was_left = true;
    r->sure = r->aged = false;
}

/* Nearer to the root than the loop's own wait, and by fewer frames: not in a callback of its, but where the
 * thread idles when it has nothing to ask, in accept, in a condition variable, asleep. Or the program pumps
 * the loop, and works in between: then that keeps more than half of the time, and is sure again after 10 s
 * without. */
void hd_rule_blocked_at(struct hd_rule_state *r, const struct hd_where *at) {
    const struct hd_where *own = r->loop != HD_RULE_NONE ? &r->group[r->loop].own : NULL;
    if (own != NULL && own->base == 0 && at->sp > own->sp && at->depth != 0 &&
        at->depth + OUTSIDE_FRAMES <= own->depth) {
        hd_rule_left(r);
    }
}

bool hd_rule_shares(const struct hd_rule_state *r, uint32_t group, const struct hd_set *set) {
    return group != HD_RULE_NONE && share(&r->group[group].common, set);
}

enum hd_verdict hd_rule_verdict(const struct hd_rule_state *r, uint32_t group) {
    if (r->loop == HD_RULE_NONE) {
        return HD_VERDICT_UNKNOWN;
    }
    return group == r->loop ? HD_VERDICT_IDLE : HD_VERDICT_BUSY;
}

void hd_rule_overrule(struct hd_rule_state *r) {
    if (r->loop == HD_RULE_NONE) {
        become(r, 0, r->halved_ns);
        r->sure = r->aged = true;
    }
}
