/* SPDX-License-Identifier: MIT */
#include "preload/waits/recognition_private.h"

#include <string.h>

#include "preload/waits/epoll_generation.h"

/* The time from one judgement of a thread's waits to the next, if the thread's loop is certain.
 * CERTAIN_EVERY_NS: the loop is in its wait. TURN_EVERY_NS: a turn runs. CLOSED_AGAIN_NS: a turn runs, and
 * the last judgement found signs, but no proof, that the program has left the loop. */
#define CERTAIN_EVERY_NS (10 * HD_NS_PER_S)
#define TURN_EVERY_NS (1 * HD_NS_PER_S)
#define CLOSED_AGAIN_NS (200 * HD_NS_PER_MS)
/* A thread may be blocked on a condition variable until another thread lets it use the loop's epoll instance.
 * The blocked thread's stack then has two or three frames of libc more than its stack in the loop's wait. So
 * with a difference of up to SAME_TURN_FRAMES frames, the thread may be blocked for this reason. */
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
    t->last.entry = NULL;
    t->last.caller = NULL;
    t->library = NULL;
    t->woke_ticks = 0;
}

void hd_recognition_init(struct hd_recognition *g, const struct hd_record *record) {
    memset(g, 0, sizeof *g);
    hd_judge_init(&g->judge, record->options.loop);
}

/* True if the thread is in a wait that is known as the loop's. */
static bool is_idle(struct hd_loop *loop) {
    struct hd_loop_view view;
    hd_loop_view(loop, &view);
    return !view.running;
}

bool hd_recognition_due(void *waits, uint64_t now_ns) {
    struct hd_wait_table *t = waits;
    struct hd_recognition_progress *done = &t->recognition->progress;
    if (hd_stack_copies_has_fresh(&t->copies)) {
        return true;
    }
    uint64_t order = atomic_load_explicit(&t->order, memory_order_relaxed);
    bool waited = order != atomic_load_explicit(&done->order, memory_order_relaxed);
    struct hd_loop *loop = t->loop;
    if (loop == NULL) {
        return false; /* there is no loop, because the watch of this thread is just starting */
    }
    bool certain = atomic_load_explicit(&loop->found.certain, memory_order_relaxed);
    uint64_t judged_ns = atomic_load_explicit(&done->judged_ns, memory_order_relaxed);
    /* A wait during a turn may show that the program has left the loop. So the recogniser judges waits more
     * often during a turn than while the loop is in its wait. */
    if (certain && !is_idle(loop)) {
        bool soon = atomic_load_explicit(&done->again_soon, memory_order_relaxed);
        return now_ns - judged_ns >= (soon ? CLOSED_AGAIN_NS : TURN_EVERY_NS);
    }
    if (certain) {
        return waited && now_ns - judged_ns >= CERTAIN_EVERY_NS;
    }
    /* `returned`: a wait has ended since the last judgement that found the loop in its wait, and the loop is
     * in its wait again. If the loop has evidence, a judgement now makes the loop certain. */
    bool returned =
        order != 0 && order != atomic_load_explicit(&done->idle_order, memory_order_relaxed) && is_idle(loop);
    return waited || returned || judged_ns == 0;
}

/* ---- the rule --------------------------------------------------------------------------------- */

/* Considers only entries that have waits that the rule has not counted, and whose last wait has a number
 * above `after`. Returns the index of the entry whose last wait has the smallest number, and stores this
 * number in *order. Returns HD_WAIT_ENTRIES if there is no such entry. */
static uint32_t next_to_count(const struct hd_wait_table *t, uint64_t after, uint64_t *order) {
    uint32_t next = HD_WAIT_ENTRIES;
    *order = UINT64_MAX;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_wait_entry *entry = &t->entry[i];
        const struct hd_known_wait *known = &t->recognition->entry[i];
        uint64_t last = atomic_load_explicit(&entry->sums.order, memory_order_relaxed);
        bool new_waits =
            hd_recognition_is_current(known, entry) &&
            atomic_load_explicit(&entry->sums.waits, memory_order_relaxed) != known->counted_waits;
        if (new_waits && last > after && last < *order) {
            next = i;
            *order = last;
        }
    }
    return next;
}

/* Passes the waits since the last judgement to the rule, one entry after another. The entry with the earliest
 * last wait comes first. The time when a wait ended comes from its entry and not from the worker's clock,
 * since the worker may run late. `now` is the same time as now_ns, but in ticks. */
static void update_rule(struct hd_wait_table *t, uint64_t now_ns, uint64_t now) {
    struct hd_recognition *g = t->recognition;
    uint64_t rate = atomic_load_explicit(&t->loop->ns_per_tick_32, memory_order_relaxed);
    uint64_t order = 0, last_ns = atomic_load_explicit(&g->progress.judged_ns, memory_order_relaxed);
    /* The thread may make more waits while this code runs. So the loop below takes at most HD_WAIT_ENTRIES
     * steps, and the next judgement counts the waits that remain. */
    for (uint32_t n = 0; n < HD_WAIT_ENTRIES; n++) {
        uint32_t next = next_to_count(t, order, &order);
        if (next == HD_WAIT_ENTRIES) {
            return;
        }
        struct hd_known_wait *known = &g->entry[next];
        struct hd_wait_times *times = &known->seen.times;
        const struct hd_wait_entry *entry = &t->entry[next];
        uint64_t waits = atomic_load_explicit(&entry->sums.waits, memory_order_acquire);
        uint64_t ticks = atomic_load_explicit(&entry->sums.ticks, memory_order_acquire);
        uint64_t first = atomic_load_explicit(&entry->sums.first_began, memory_order_acquire);
        uint64_t ended = atomic_load_explicit(&entry->sums.ended, memory_order_acquire);
        if (!hd_recognition_is_current(known, entry)) {
            /* The thread has given the entry a new key while the worker read the entry's sums. So the sums
             * may be those of waits with the new key. */
            continue;
        }
        uint64_t ago_ns = ended < now ? hd_ticks_to_ns(now - ended, rate) : 0;
        /* After a suspend of the machine the tick counter and the clock may differ, so `ago_ns` may be too
         * large. In this case last_ns stays as it is, because times must not go back. */
        last_ns = ago_ns < now_ns - last_ns ? now_ns - ago_ns : last_ns;
        *times = (struct hd_wait_times){.first = first,
                                        .waits = waits - known->counted_waits,
                                        .waited_ns = hd_ticks_to_ns(ticks - known->counted_ticks, rate),
                                        .order = order,
                                        .ended_ns = last_ns};
        hd_judge_ended(&g->judge, &known->seen);
        known->counted_waits = waits;
        known->counted_ticks = ticks;
    }
}

bool hd_recognition_candidate(const struct hd_wait_table *t, uint64_t *call_pc, uint64_t *caller_pc) {
    struct hd_recognition *g = t->recognition;
    const struct hd_known_wait *best = NULL;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        if (!known->known) {
            continue;
        }
        bool loops = hd_judge_is_loops(&g->judge, &known->seen);
        bool best_loops = best != NULL && hd_judge_is_loops(&g->judge, &best->seen);
        if (known->seen.stack.caller_pc != 0 &&
            (best == NULL || loops > best_loops ||
             (loops == best_loops && known->counted_waits > best->counted_waits))) {
            best = known;
        }
    }
    *call_pc = best != NULL ? best->seen.stack.call_pc : 0;
    *caller_pc = best != NULL ? best->seen.stack.caller_pc : 0;
    return best != NULL;
}

/* Before the loop was known, its waits had no marks. This function stores two times that such marks would
 * have stored. The start of the loop's first wait ended the launch. The end of the loop's last wait started
 * the running turn. The thread may have made a later wait that the worker does not know. That wait may be the
 * loop's too, so in this case no time is stored for the running turn. */
static void store_earlier_waits(struct hd_wait_table *t) {
    struct hd_recognition *g = t->recognition;
    struct hd_loop *loop = t->loop;
    uint64_t first = UINT64_MAX, last = 0, last_order = 0, unknown_order = 0;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        const struct hd_wait_entry *entry = &t->entry[i];
        uint64_t began = atomic_load_explicit(&entry->sums.first_began, memory_order_relaxed);
        uint64_t order = atomic_load_explicit(&entry->sums.order, memory_order_relaxed);
        if (!hd_recognition_is_current(known, entry)) {
            unknown_order = order > unknown_order ? order : unknown_order;
        } else if (began != 0 && hd_judge_is_loops(&g->judge, &known->seen)) {
            first = began < first ? began : first;
            last =
                order > last_order ? atomic_load_explicit(&entry->unknown.ended, memory_order_seq_cst) : last;
            last_order = order > last_order ? order : last_order;
        }
    }
    atomic_store_explicit(&loop->found.resumed, last_order > unknown_order ? last : 0, memory_order_release);
    if (first != UINT64_MAX && atomic_load_explicit(&loop->found.launched, memory_order_relaxed) == 0) {
        atomic_store_explicit(&loop->found.launched, first, memory_order_release);
    }
}

/* A wait of the loop with a new key may end before the worker has written the verdict on the wait. The thread
 * makes no mark for such a wait, so this function stores the wait's start and end. From the start the monitor
 * knows when the turn before the wait ended. */
static void store_last_wait(struct hd_loop *loop, const struct hd_wait_entry *entry) {
    uint64_t ended = atomic_load_explicit(&entry->unknown.ended, memory_order_seq_cst);
    uint64_t began = atomic_load_explicit(&entry->unknown.began, memory_order_acquire);
    bool whole = began < ended && atomic_load_explicit(&entry->unknown.ended, memory_order_acquire) == ended;
    if (whole && ended > atomic_load_explicit(&loop->found.waited_to, memory_order_relaxed)) {
        atomic_store_explicit(&loop->found.waited_from, began, memory_order_relaxed);
        atomic_store_explicit(&loop->found.waited_to, ended, memory_order_release);
    }
}

uint64_t hd_recognition_waited_ns(const struct hd_wait_table *t) {
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        ticks += atomic_load_explicit(&t->entry[i].sums.ticks, memory_order_relaxed);
    }
    return t->loop != NULL
               ? hd_ticks_to_ns(ticks, atomic_load_explicit(&t->loop->ns_per_tick_32, memory_order_relaxed))
               : 0;
}

/* ---- verdicts --------------------------------------------------------------------------------- */

static void send_verdict(const struct hd_stack_tools *tools, uint8_t loop, uint32_t generation,
                         enum hd_loop_word word) {
    tools->send(tools->worker, &(struct hd_loop_verdict){loop, generation, word});
}

static const struct hd_watch *watch_of(const struct hd_loop *loop) {
    return (const struct hd_watch *)(const void *)loop;
}

/* Writes the verdict of each entry. `changed`: another group has become the loop. If so, store_earlier_waits
 * stores the times of the loop's waits; otherwise write_verdicts stores them. */
static void write_verdicts(struct hd_wait_table *t, bool changed) {
    struct hd_recognition *g = t->recognition;
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &g->entry[i];
        struct hd_wait_entry *entry = &t->entry[i];
        if (!hd_recognition_is_current(known, entry)) {
            continue;
        }
        uint8_t verdict = (uint8_t)hd_judge_verdict(&g->judge, &known->seen);
        if (atomic_load_explicit(&entry->verdict, memory_order_relaxed) != verdict) {
            atomic_store_explicit(&entry->verdict, verdict, memory_order_seq_cst);
            /* If the thread has changed the key while the worker wrote, the verdict is on waits with the old
             * key. So the worker takes this verdict back. */
            if (!hd_recognition_is_current(known, entry)) {
                atomic_store_explicit(&entry->verdict, HD_WAIT_UNKNOWN, memory_order_seq_cst);
            } else if (verdict == HD_WAIT_IDLE && !changed) {
                store_last_wait(t->loop, entry);
            }
        }
    }
}

static void give_verdicts(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    struct hd_recognition *g = t->recognition;
    const struct hd_rule_state *r = &g->judge.rule;
    struct hd_loop *loop = t->loop;
    bool changed = r->changes != g->rule_changes;
    bool first = g->rule_changes == 0;
    if (changed) {
        g->rule_changes = r->changes;
        store_earlier_waits(t);
        if (!first) {
            send_verdict(tools, watch_of(loop)->index, watch_of(loop)->generation, HD_LOOP_ANOTHER);
            atomic_fetch_add_explicit(&loop->found.changes, 1, memory_order_release);
        }
    }
    write_verdicts(t, changed);
    /* The first call of store_earlier_waits misses a wait that ended after this call, and before the worker
     * wrote the wait's verdict. The thread has stored the end of this wait by now, so the second call finds
     * it. */
    if (changed) {
        store_earlier_waits(t);
    }
    bool lost = t->silent || (r->loop == HD_RULE_NONE && r->changes > 0);
    atomic_store_explicit(&loop->found.lost, lost, memory_order_relaxed);
    atomic_store_explicit(&loop->found.certain, hd_rule_certain(r), memory_order_relaxed);
    /* The store of found.certain does not suffice, because a parked monitor does not read it. So the worker's
     * code that publishes deferred reports gets a message too. */
    if (hd_rule_certain(r)) {
        send_verdict(tools, watch_of(loop)->index, g->generation, HD_LOOP_CERTAIN);
    }
    atomic_store_explicit(&loop->found.has_evidence, hd_rule_has_evidence(r), memory_order_relaxed);
    g->certainty = (uint32_t)hd_judge_certainty(&g->judge);
}

/* Finds the epoll instance that a thread may want to use while it is blocked with `depth` frames on its
 * stack. Returns the descriptor of an instance for which the thread has waited before. In that wait, its
 * stack had at most SAME_TURN_FRAMES frames fewer. If the difference is larger, the thread is blocked in a
 * callback. A wait that is known not to be the loop's own does not count. -1: there is no such instance. */
static int32_t epoll_at(const struct hd_wait_table *t, uint32_t depth) {
    for (uint32_t i = 0; i < HD_WAIT_ENTRIES; i++) {
        const struct hd_known_wait *known = &t->recognition->entry[i];
        const struct hd_wait_descriptors *d = &known->descriptors;
        const struct hd_wait_entry *entry = &t->entry[i];
        if (d->epoll && depth <= known->seen.at.depth + SAME_TURN_FRAMES &&
            d->epoll_generation == hd_epoll_generation(d->fd[0]) && hd_recognition_is_current(known, entry) &&
            atomic_load_explicit(&entry->verdict, memory_order_relaxed) != HD_WAIT_BUSY) {
            return d->fd[0];
        }
    }
    return -1;
}

void hd_recognition_blocked(struct hd_wait_table *t, struct hd_blocked *how) {
    struct hd_recognition *g = t->recognition;
    struct hd_rule_state *r = &g->judge.rule;
    const struct hd_call_site at = {.sp = how->sp, .depth = how->depth};
    bool was_certain = hd_rule_certain(r);
    if (how->in_turn && !how->served) {
        how->epoll = epoll_at(t, how->depth);
        how->parked = t->pool && how->epoll >= 0 && (g->parked_sp == 0 || g->parked_sp == how->sp);
        return;
    }
    if (t->pool) {
        /* A parked thread has not left the loop: the threads of the pool take turns in it. */
        g->parked_sp = how->served ? how->sp : g->parked_sp;
        return;
    }
    if (!hd_judge_by_option(&g->judge)) {
        if (how->served) {
            hd_rule_idles_outside(r);
        } else {
            hd_rule_blocked_at(r, &at);
        }
    }
    if (was_certain && !hd_rule_certain(r)) {
        atomic_store_explicit(&t->loop->found.certain, false, memory_order_relaxed);
        g->certainty = (uint32_t)hd_judge_certainty(&g->judge);
    }
}

/* If the program has left the loop, stores that the running turn is not a hang. Nothing is stored about a
 * turn that began after `now`. Closed files are not always a proof that the program has left the loop. While
 * the program ends, closed files prove nothing: exit closes all files, and a hang may end by exit. At other
 * times they are a proof if two judgements in a row find the files closed. They are also a proof if the
 * thread has made another wait after the loop's last wait. */
static void ignore_turn(struct hd_wait_table *t, uint64_t now, uint64_t order, bool ending) {
    struct hd_recognition *g = t->recognition;
    const struct hd_rule_state *r = &g->judge.rule;
    struct hd_loop_view view;
    hd_loop_view(t->loop, &view);
    bool over = hd_rule_is_over(r);
    bool lives = over && !ending && (g->closed || r->group[r->loop].order.last != order);
    bool left = over && (r->outside.waited || lives);
    atomic_store_explicit(&g->progress.again_soon, over && !left, memory_order_relaxed);
    g->closed = over;
    if (left && view.running && view.turn_ticks < now) {
        atomic_store_explicit(&t->loop->found.ignored_turn, view.turn_ticks, memory_order_relaxed);
    }
}

void hd_recognition_end(struct hd_wait_table *t, const struct hd_stack_tools *tools) {
    const struct hd_recognition *g = t->recognition;
    if (g->progress.judged_ns != 0 && g->certainty < HD_RECORD_LOOP_LIKELY) {
        send_verdict(tools, watch_of(t->loop)->index, g->generation, HD_LOOP_ANOTHER);
    }
}

void hd_recognition_judge(void *waits, const struct hd_stack_tools *tools) {
    struct hd_wait_table *t = waits;
    struct hd_recognition *g = t->recognition;
    if (t->loop == NULL) {
        /* The thread has no loop, because its watch is just starting or got no memory. The worker has called
         * this function because another thread's table has waits to judge. */
        return;
    }
    uint64_t now_ns = hd_os_now_ns(), now = hd_loop_ticks(t->loop);
    uint64_t order = atomic_load_explicit(&t->order, memory_order_relaxed);
    hd_recognition_resolve(t, tools, now_ns);
    if (!hd_judge_by_option(&g->judge)) {
        hd_recognition_note_closed(t, tools);
        hd_recognition_read_again(t, tools);
        update_rule(t, now_ns, now);
        ignore_turn(t, now, order, tools->ending);
        if (is_idle(t->loop)) {
            hd_rule_waits_again(&g->judge.rule, now_ns);
            atomic_store_explicit(&g->progress.idle_order, order, memory_order_relaxed);
        }
    }
    g->generation = watch_of(t->loop)->generation;
    give_verdicts(t, tools);
    atomic_store_explicit(&g->progress.order, order, memory_order_relaxed);
    atomic_store_explicit(&g->progress.judged_ns, now_ns, memory_order_relaxed);
    if (tools->ending) {
        hd_recognition_end(t, tools);
    }
}
