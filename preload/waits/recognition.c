/* SPDX-License-Identifier: MIT
 *
 * Worker: recognition of the loop's own wait. No allocation.
 */
#include "preload/waits/recognition_private.h"

#include <string.h>

#include "preload/waits/epoll_generation.h"

/* How often a certain loop is judged again: another one may succeed it; and in a turn of its. */
#define CERTAIN_EVERY_NS (10 * HD_NS_PER_S)
#define TURN_EVERY_NS (1 * HD_NS_PER_S)
#define CLOSED_AGAIN_NS (200 * HD_NS_PER_MS)
/* A condition variable is waited for in two or three functions of libc, below the loop's own or in it. */
#define SAME_TURN_FRAMES 4

struct hd_wait_table *hd_wait_table_new(void) {
    struct hd_wait_table *t = hd_os_memory_take(sizeof *t + sizeof *t->recognition);
    if (t != NULL) {
        t->recognition = (struct hd_recognition *)(void *)(t + 1);
    }
    return t;
}

void hd_wait_table_forget(struct hd_wait_table *t) {
    t->watch = NULL;
    memset(t->entry, 0, sizeof t->entry);
    atomic_store(&t->order, 0);
    t->last = NULL;
    t->last_caller = NULL;
    t->woke_ticks = 0;
}

void hd_recognition_init(struct hd_recognition *g, const struct hd_record *record) {
    memset(g, 0, sizeof *g);
    hd_rule_init(&g->rule);
    hd_loop_option_init(&g->option, record->options.loop);
}

/* In a wait that is known for the loop's. */
static bool is_idle(struct hd_loop *loop) {
    struct hd_loop_view view;
    hd_loop_view(loop, &view);
    return !view.running;
}

bool hd_recognition_due(void *waits, uint64_t now_ns) {
    struct hd_wait_table *t = waits;
    struct hd_recognition *g = t->recognition;
    if ((atomic_load_explicit(&t->left.between, memory_order_relaxed) & HD_STACK_COPY_FRESH) != 0) {
        return true;
    }
    uint64_t order = atomic_load_explicit(&t->order, memory_order_relaxed);
    bool waited = order != atomic_load_explicit(&g->order, memory_order_relaxed);
    struct hd_loop *loop = t->loop;
    if (loop == NULL) {
        return false; /* its watch just begins */
    }
    bool sure = atomic_load_explicit(&loop->found.certain, memory_order_relaxed);
    uint64_t looked_ns = atomic_load_explicit(&g->looked_ns, memory_order_relaxed);
    if (sure && !is_idle(loop)) { /* where it waits now may show that the program has left the loop */
        bool soon = atomic_load_explicit(&g->look_soon, memory_order_relaxed);
        return now_ns - looked_ns >= (soon ? CLOSED_AGAIN_NS : TURN_EVERY_NS);
    }
    if (sure) {
        return waited && now_ns - looked_ns >= CERTAIN_EVERY_NS;
    }
    bool again = order != 0 && order != atomic_load_explicit(&g->idle_order, memory_order_relaxed) &&
                 is_idle(loop); /* it returned: it is certain now, if it has evidence */
    return waited || again || looked_ns == 0;
}

/* ---- the rule --------------------------------------------------------------------------------- */

/* Waits since the last time, in the order of each identity's last one: of all it is told when they ended by
 * the thread, since we may be late. `now`: now_ns in ticks. */
static void update_rule(struct hd_wait_table *t, uint64_t now_ns, uint64_t now) {
    struct hd_recognition *g = t->recognition;
    uint64_t rate = atomic_load_explicit(&t->loop->ns_per_tick_32, memory_order_relaxed);
    uint64_t last_order_given = 0, last_ns = atomic_load_explicit(&g->looked_ns, memory_order_relaxed);
    for (uint32_t n = 0; n < HD_WAIT_ENTRIES; n++) { /* the thread goes on: each comes once, or next time */
        uint32_t next = HD_WAIT_ENTRIES;
        uint64_t next_order = UINT64_MAX;
        for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
            uint64_t order = atomic_load_explicit(&t->entry[i].order, memory_order_relaxed);
            const struct hd_known_wait *known = &g->entry[i];
            bool new_waits = known->known &&
                             atomic_load_explicit(&t->entry[i].waits, memory_order_relaxed) != known->waits &&
                             atomic_load_explicit(&t->entry[i].uses, memory_order_relaxed) == known->uses;
            if (new_waits && order > last_order_given && order < next_order) {
                next = i;
                next_order = order;
            }
        }
        if (next == HD_WAIT_ENTRIES) {
            return;
        }
        struct hd_known_wait *known = &g->entry[next];
        const struct hd_wait_entry *id = &t->entry[next];
        uint64_t waits = atomic_load_explicit(&id->waits, memory_order_acquire);
        uint64_t ticks = atomic_load_explicit(&id->ticks, memory_order_acquire);
        uint64_t first = atomic_load_explicit(&id->first_began, memory_order_acquire);
        uint64_t over = atomic_load_explicit(&id->over, memory_order_acquire);
        last_order_given = next_order;
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

static bool is_loops(struct hd_recognition *g, const struct hd_known_wait *known) {
    return hd_loop_option_is_set(&g->option) ? known->by_option
                                             : hd_rule_group_of(&g->rule, &known->seen) == g->rule.loop;
}

bool hd_recognition_candidate(const struct hd_wait_table *t, uint64_t *call_pc, uint64_t *caller_pc) {
    struct hd_recognition *g = t->recognition;
    const struct hd_known_wait *best = NULL;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        bool loops = known->known && is_loops(g, known), best_loops = best != NULL && is_loops(g, best);
        if (known->known && known->caller_pc != 0 &&
            (best == NULL || loops > best_loops || (loops == best_loops && known->waits > best->waits))) {
            best = known;
        }
    }
    *call_pc = best != NULL ? best->call_pc : 0;
    *caller_pc = best != NULL ? best->caller_pc : 0;
    return best != NULL;
}

static uint8_t verdict_on(struct hd_recognition *g, const struct hd_known_wait *known) {
    if (hd_loop_option_is_set(&g->option)) {
        return !g->option.seen ? HD_WAIT_UNKNOWN : known->by_option ? HD_WAIT_IDLE : HD_WAIT_BUSY;
    }
    return (uint8_t)hd_rule_verdict(&g->rule, hd_rule_group_of(&g->rule, &known->seen));
}

/* What became known too late for marks: when the loop first waited (its launch ended there), and when it last
 * had (the turn began there). A later wait whose meaning nobody knows may have been the loop's as well. */
static void store_earlier_waits(struct hd_wait_table *t) {
    struct hd_recognition *g = t->recognition;
    struct hd_loop *loop = t->loop;
    uint64_t first = UINT64_MAX, last = 0, last_order = 0, unknown_order = 0;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        const struct hd_wait_entry *id = &t->entry[i];
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
    atomic_store_explicit(&loop->found.resumed, last_order > unknown_order ? last : 0, memory_order_release);
    if (first != UINT64_MAX && atomic_load_explicit(&loop->found.launched, memory_order_relaxed) == 0) {
        atomic_store_explicit(&loop->found.launched, first, memory_order_release);
    }
}

/* A wait on a set that the loop never had before was over before anybody knew that it was the loop's: the
 * turn ended when it began. */
static void store_last_wait(struct hd_loop *loop, const struct hd_wait_entry *id) {
    uint64_t ended = atomic_load_explicit(&id->ended, memory_order_seq_cst);
    uint64_t began = atomic_load_explicit(&id->began, memory_order_acquire);
    bool whole = began < ended && atomic_load_explicit(&id->ended, memory_order_acquire) == ended;
    if (whole && ended > atomic_load_explicit(&loop->found.waited_to, memory_order_relaxed)) {
        atomic_store_explicit(&loop->found.waited_from, began, memory_order_relaxed);
        atomic_store_explicit(&loop->found.waited_to, ended, memory_order_release);
    }
}

uint64_t hd_recognition_waited_ns(const struct hd_wait_table *t) {
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        ticks += atomic_load_explicit(&t->entry[i].ticks, memory_order_relaxed);
    }
    return t->loop != NULL
               ? hd_ticks_to_ns(ticks, atomic_load_explicit(&t->loop->ns_per_tick_32, memory_order_relaxed))
               : 0;
}

/* ---- verdicts --------------------------------------------------------------------------------- */

static uint32_t standing_of(const struct hd_rule_state *r) {
    return hd_rule_certain(r)        ? HD_RECORD_LOOP_CERTAIN
           : hd_rule_stands(r)       ? HD_RECORD_LOOP_LIKELY
           : r->loop != HD_RULE_NONE ? HD_RECORD_LOOP_DOUBTFUL
                                     : HD_RECORD_NO_LOOP;
}

static void send_verdict(const struct hd_stack_tools *tools, uint8_t loop, uint32_t generation,
                         enum hd_loop_word word) {
    tools->send(tools->worker, &(struct hd_loop_verdict){loop, generation, word});
}

static void give_verdicts(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    struct hd_recognition *g = t->recognition;
    struct hd_loop *loop = t->loop;
    bool changed = g->rule.changes != g->rule_changes;
    bool first = g->rule_changes == 0;
    if (changed) {
        g->rule_changes = g->rule.changes;
        store_earlier_waits(t);
        if (!first) {
            const struct hd_watch *w = (const struct hd_watch *)(const void *)loop;
            send_verdict(tools, w->index, w->generation, HD_LOOP_ANOTHER);
            atomic_fetch_add_explicit(&loop->found.changes, 1, memory_order_release);
        }
    }
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        struct hd_wait_entry *id = &t->entry[i];
        if (!known->known || atomic_load_explicit(&id->uses, memory_order_seq_cst) != known->uses) {
            continue;
        }
        uint8_t byte = verdict_on(g, known);
        if (atomic_load_explicit(&id->verdict, memory_order_relaxed) != byte) {
            atomic_store_explicit(&id->verdict, byte, memory_order_seq_cst);
            if (atomic_load_explicit(&id->uses, memory_order_seq_cst) != known->uses) {
                atomic_store_explicit(&id->verdict, HD_WAIT_UNKNOWN, memory_order_seq_cst); /* of another */
            } else if (byte == HD_WAIT_IDLE && !changed) {
                store_last_wait(loop, id);
            }
        }
    }
    if (changed) { /* a wait that ended before its verdict has told its end: now, if not before */
        store_earlier_waits(t);
    }
    atomic_store_explicit(&loop->found.lost, g->rule.loop == HD_RULE_NONE && g->rule.changes > 0,
                          memory_order_relaxed);
    atomic_store_explicit(&loop->found.certain, hd_rule_certain(&g->rule), memory_order_relaxed);
    if (hd_rule_certain(&g->rule)) { /* the monitor may be parked by now */
        send_verdict(tools, ((const struct hd_watch *)(const void *)loop)->index, g->generation,
                     HD_LOOP_CERTAIN);
    }
    atomic_store_explicit(&loop->found.has_evidence, hd_rule_has_evidence(&g->rule), memory_order_relaxed);
    g->standing = standing_of(&g->rule);
}

/* By which the thread itself waits, about as deep as it is now, and not for a call's sake; -1: none. In a
 * callback of the loop it is deeper. */
static int32_t epoll_at(const struct hd_wait_table *t, uint32_t depth) {
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &t->recognition->entry[i];
        const struct hd_wait_entry *id = &t->entry[i];
        if (known->known && known->objects.epoll && depth <= known->seen.at.depth + SAME_TURN_FRAMES &&
            known->objects.epoll_generation == hd_epoll_generation(known->objects.fd[0]) &&
            atomic_load_explicit(&id->uses, memory_order_relaxed) == known->uses &&
            atomic_load_explicit(&id->verdict, memory_order_relaxed) != HD_WAIT_BUSY) {
            return known->objects.fd[0];
        }
    }
    return -1;
}

void hd_recognition_blocked(struct hd_wait_table *t, struct hd_blocked *how) {
    struct hd_recognition *g = t->recognition;
    const struct hd_call_site at = {.sp = how->sp, .depth = how->depth};
    bool was = hd_rule_certain(&g->rule);
    if (how->in_turn && !how->served) {
        how->epoll = epoll_at(t, how->depth);
        return;
    }
    if (!hd_loop_option_is_set(&g->option)) {
        if (how->served) {
            hd_rule_left(&g->rule);
        } else {
            hd_rule_blocked_at(&g->rule, &at);
        }
    }
    if (was && !hd_rule_certain(&g->rule)) {
        atomic_store_explicit(&t->loop->found.certain, false, memory_order_relaxed);
        g->standing = standing_of(&g->rule);
    }
}

/* The turn that is running is none once the program has left the loop. One that began after `now` is another.
 * A hang may end by exit, which closes the descriptors: they say nothing at the end of the program, nor when
 * one look alone found them closed and the thread has not waited since. */
static void excuse_turn(struct hd_wait_table *t, uint64_t now, uint64_t order, bool ending) {
    struct hd_recognition *g = t->recognition;
    struct hd_loop_view view;
    hd_loop_view(t->loop, &view);
    bool over = hd_rule_is_over(&g->rule);
    bool lives = over && !ending && (g->closed || g->rule.group[g->rule.loop].last != order);
    bool left = over && (g->rule.outside || lives);
    atomic_store_explicit(&g->look_soon, over && !left, memory_order_relaxed);
    g->closed = over;
    if (left && view.running && view.turn_ticks < now) {
        atomic_store_explicit(&t->loop->found.ignored_turn, view.turn_ticks, memory_order_relaxed);
    }
}

void hd_recognition_end(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    const struct hd_recognition *g = t->recognition;
    const struct hd_watch *w = (const struct hd_watch *)(const void *)t->loop;
    if (g->looked_ns != 0 && g->standing < HD_RECORD_LOOP_LIKELY) {
        send_verdict(tools, w->index, g->generation, HD_LOOP_ANOTHER);
    }
}

void hd_recognition_judge(void *waits, const struct hd_stack_tools *tools) {
    struct hd_wait_table *t = waits;
    struct hd_recognition *g = t->recognition;
    if (t->loop == NULL) {
        return; /* the main thread's watch just begins, or there was no memory for it: a named one was due */
    }
    uint64_t now_ns = hd_os_now_ns(), now = hd_loop_ticks(t->loop);
    uint64_t order = atomic_load_explicit(&t->order, memory_order_relaxed);
    hd_recognition_resolve(t, tools, now_ns);
    if (hd_loop_option_is_set(&g->option)) {
        if (g->option.seen) {
            hd_rule_overrule(&g->rule);
        }
    } else {
        hd_recognition_note_closed(t, tools);
        hd_recognition_read_again(t, tools);
        update_rule(t, now_ns, now);
        excuse_turn(t, now, order, tools->ending);
        if (is_idle(t->loop)) {
            hd_rule_waits_again(&g->rule, now_ns);
            atomic_store_explicit(&g->idle_order, order, memory_order_relaxed);
        }
    }
    g->generation = ((const struct hd_watch *)(const void *)t->loop)->generation;
    give_verdicts(t, tools);
    atomic_store_explicit(&g->order, order, memory_order_relaxed);
    atomic_store_explicit(&g->looked_ns, now_ns, memory_order_relaxed);
    if (tools->ending) {
        hd_recognition_end(t, tools);
    }
}
