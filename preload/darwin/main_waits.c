/* SPDX-License-Identifier: MIT */
#include "preload/darwin/main_waits.h"

#include <string.h>

#define MIX(hash, value) (((hash) ^ (uint64_t)(value)) * 0xff51afd7ed558ccdULL)
#define SEED 0x9e3779b97f4a7c15ULL

/* ---- descriptors ------------------------------------------------------------------------------ */

/* The number stands for the file: a number that is used again counts as the same file. */
void hd_main_files_add(struct hd_main_files *f, int fd) {
    if (fd >= 0) {
        hd_set_add(&f->set, (uint64_t)fd + 1);
    }
}

void hd_main_files_kqueue(struct hd_main_files *f, int kqueue) {
    f->kqueue = true;
    hd_set_add(&f->set, HD_FILE_EPOLL | (uint32_t)kqueue);
}

static uint64_t hash_of(const struct hd_main_files *f) {
    uint64_t hash = SEED;
    for (uint32_t i = 0; i < f->set.count; i++) {
        hash = MIX(hash, f->set.file[i]);
    }
    return hash;
}

/* ---- the call site ---------------------------------------------------------------------------- */

/* Follows the frame pointers of the calling thread within its stack, which is mapped. */
static struct hd_call_site call_site(const struct hd_main_waits *m, const void *frame) {
    uint64_t at = (uint64_t)(uintptr_t)frame;
    struct hd_call_site site = {.sp = at + 16, .stack_hash = SEED};
    while (at >= m->stack_lo && at + 16 <= m->stack_hi && at % 8 == 0 && site.depth < HD_MAIN_WAITS_FRAMES) {
        const uint64_t *record = (const uint64_t *)(uintptr_t)at;
        site.stack_hash = MIX(site.stack_hash, record[1]);
        site.depth++;
        if (record[0] <= at) {
            break;
        }
        at = record[0];
    }
    return site;
}

/* ---- findings --------------------------------------------------------------------------------- */

void hd_main_waits_init(struct hd_main_waits *m, struct hd_watch *watch, struct hd_record *record,
                        uint64_t stack_lo, uint64_t stack_hi) {
    memset(m, 0, sizeof *m);
    hd_rule_init(&m->rule);
    m->stack_lo = stack_lo;
    m->stack_hi = stack_hi;
    m->record = record;
    m->watch = watch;
}

/* At the program's end this decides which deferred reports stay. */
static void store_certainty(struct hd_main_waits *m, enum hd_record_certainty certainty) {
    atomic_store_explicit(&m->record->loop.certainty, certainty, memory_order_relaxed);
    atomic_store_explicit(&m->record->loop.waits, m->order, memory_order_relaxed);
}

static void store_findings(struct hd_main_waits *m) {
    struct hd_loop *loop = &m->watch->loop;
    const struct hd_rule_state *r = &m->rule;
    atomic_store_explicit(&loop->found.lost, r->loop == HD_RULE_NONE && r->changes > 0, memory_order_relaxed);
    atomic_store_explicit(&loop->found.has_evidence, hd_rule_has_evidence(r), memory_order_relaxed);
    atomic_store_explicit(&loop->found.certain, hd_rule_certain(r), memory_order_release);
    store_certainty(m, hd_rule_certain(r)        ? HD_RECORD_LOOP_CERTAIN
                       : hd_rule_is_valid(r)     ? HD_RECORD_LOOP_LIKELY
                       : r->loop != HD_RULE_NONE ? HD_RECORD_LOOP_DOUBTFUL
                                                 : HD_RECORD_NO_LOOP);
    atomic_fetch_add_explicit(&m->judged, 1, memory_order_release);
}

/* Another wait has become the loop's. Before, its waits had no marks: the first of them ended the launch, and
 * `now`, the end of the last one, starts the running turn. */
static void follow_change(struct hd_main_waits *m, uint64_t now) {
    struct hd_loop *loop = &m->watch->loop;
    const struct hd_rule_state *r = &m->rule;
    bool first = m->changes == 0;
    m->changes = r->changes;
    if (r->loop != HD_RULE_NONE && atomic_load_explicit(&loop->found.launched, memory_order_relaxed) == 0) {
        uint64_t began = r->group[r->loop].order.first;
        atomic_store_explicit(&loop->found.launched, began != 0 ? began : now, memory_order_release);
    }
    atomic_store_explicit(&loop->found.resumed, now, memory_order_release);
    if (!first) {
        atomic_fetch_add_explicit(&loop->found.changes, 1, memory_order_release);
        atomic_fetch_add_explicit(&m->others, 1, memory_order_release);
    }
}

static bool is_loops(struct hd_main_waits *m, const struct hd_wait_seen *seen) {
    return hd_rule_verdict(&m->rule, hd_rule_group_of(&m->rule, seen)) == HD_WAIT_IDLE;
}

/* ---- a wait ----------------------------------------------------------------------------------- */

static void count_pending(struct hd_main_waits *m) {
    if (m->pending.waits > 0) {
        m->loops.times = m->pending;
        m->pending.waits = m->pending.waited_ns = 0;
        hd_rule_waited(&m->rule, hd_rule_group_of(&m->rule, &m->loops), &m->loops);
    }
}

static bool repeats_last(const struct hd_main_waits *m, const struct hd_last_key *key) {
    return m->last.frame == key->frame && m->last.caller == key->caller && m->last.files == key->files &&
           hd_rule_certain(&m->rule);
}

static struct hd_last_key key_of(const struct hd_main_files *files, const void *frame) {
    const uint64_t *record = frame;
    return (struct hd_last_key){record[1], (uint64_t)(uintptr_t)frame, hash_of(files)};
}

/* Only the worker's clock and the marks count in ticks, which are nanoseconds on Apple's systems. */
static void begin_new(struct hd_main_waits *m, struct hd_main_wait *w, const struct hd_main_files *files,
                      const struct hd_last_key *key, const void *frame) {
    w->seen = (struct hd_wait_seen){
        .at = call_site(m, frame), .set = files->set, .kinds = {.epoll = files->kqueue}};
    count_pending(m);
    uint32_t group = hd_rule_group_of(&m->rule, &w->seen);
    w->began = hd_loop_ticks(&m->watch->loop);
    hd_rule_seen(&m->rule, group, &w->seen, w->blocks, w->began);
    if (m->rule.changes != m->changes) {
        follow_change(m, w->began);
    }
    w->idle = hd_rule_verdict(&m->rule, group) == HD_WAIT_IDLE;
    if (w->idle && w->blocks) {
        hd_rule_waits_again(&m->rule, w->began);
        m->last = *key;
        m->loops = w->seen;
    }
    store_findings(m);
}

void hd_main_waits_begin(struct hd_main_waits *m, struct hd_main_wait *w, const struct hd_main_files *files,
                         bool blocks, const void *frame) {
    w->counted = hd_main_waits_are_of(m, frame) && !m->busy && files->set.count > 0;
    if (!w->counted) {
        return;
    }
    m->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    struct hd_last_key key = key_of(files, frame);
    w->blocks = blocks;
    w->quick = blocks && repeats_last(m, &key);
    w->idle = w->quick;
    if (!w->quick) {
        begin_new(m, w, files, &key, frame);
    }
    if (w->idle && blocks) {
        w->began = hd_loop_before_wait(&m->watch->loop);
    }
    atomic_signal_fence(memory_order_seq_cst);
    m->busy = false;
}

static void end_quick(struct hd_main_waits *m, const struct hd_main_wait *w, uint64_t now) {
    m->pending.waits++;
    m->pending.waited_ns += now - w->began;
    m->pending.order = ++m->order;
    m->pending.ended_ns = now;
}

/* A wait without marks may prove to be the loop's at its end. The turn before ended where the wait began. */
static void end_new(struct hd_main_waits *m, struct hd_main_wait *w, uint64_t now) {
    struct hd_loop *loop = &m->watch->loop;
    w->seen.times = (struct hd_wait_times){
        .first = w->began, .waits = 1, .waited_ns = now - w->began, .order = ++m->order, .ended_ns = now};
    hd_rule_waited(&m->rule, hd_rule_group_of(&m->rule, &w->seen), &w->seen);
    if (m->rule.changes != m->changes) {
        follow_change(m, now);
    }
    if (!w->idle && w->blocks && is_loops(m, &w->seen)) {
        atomic_store_explicit(&loop->found.waited_from, w->began, memory_order_relaxed);
        atomic_store_explicit(&loop->found.waited_to, now, memory_order_release);
        hd_loop_mark_at(loop, HANGDOG_BEFORE_WAITING, now);
        hd_loop_mark_at(loop, HANGDOG_AFTER_WAITING, now);
    }
    store_findings(m);
}

void hd_main_waits_end(struct hd_main_waits *m, struct hd_main_wait *w) {
    if (!w->counted || m->off) {
        return;
    }
    struct hd_loop *loop = &m->watch->loop;
    m->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t now = w->idle && w->blocks ? hd_loop_after_wait(loop)
                   : w->idle            ? hd_loop_turn(loop)
                                        : hd_loop_ticks(loop);
    if (w->quick) {
        end_quick(m, w, now);
    } else {
        end_new(m, w, now);
    }
    atomic_signal_fence(memory_order_seq_cst);
    m->busy = false;
}

void hd_main_waits_leave(struct hd_main_waits *m) {
    struct hd_loop *loop = &m->watch->loop;
    m->off = true;
    if (m->changes != 0) {
        atomic_fetch_add_explicit(&loop->found.changes, 1, memory_order_release);
        atomic_fetch_add_explicit(&m->others, 1, memory_order_release);
    }
    atomic_store_explicit(&loop->found.lost, false, memory_order_relaxed);
    atomic_store_explicit(&loop->found.has_evidence, true, memory_order_relaxed);
    atomic_store_explicit(&loop->found.certain, true, memory_order_release);
    store_certainty(m, HD_RECORD_LOOP_CERTAIN);
    atomic_fetch_add_explicit(&m->judged, 1, memory_order_release);
}

/* ---- the worker ------------------------------------------------------------------------------- */

bool hd_main_waits_due(void *ctx, uint64_t now_ns) {
    struct hd_main_waits *m = ctx;
    (void)now_ns;
    return atomic_load_explicit(&m->judged, memory_order_acquire) != m->passed;
}

void hd_main_waits_judge(void *ctx, const struct hd_stack_tools *tools) {
    struct hd_main_waits *m = ctx;
    struct hd_watch *watch = m->watch;
    uint32_t judged = atomic_load_explicit(&m->judged, memory_order_acquire);
    uint32_t others = atomic_load_explicit(&m->others, memory_order_acquire);
    if (watch == NULL) {
        return;
    }
    struct hd_loop_verdict verdict = {.loop = watch->index, .generation = watch->generation};
    if (others != m->passed_others) {
        verdict.word = HD_LOOP_ANOTHER;
        tools->send(tools->worker, &verdict);
    }
    if (atomic_load_explicit(&watch->loop.found.certain, memory_order_acquire)) {
        verdict.word = HD_LOOP_CERTAIN;
        tools->send(tools->worker, &verdict);
    }
    m->passed_others = others;
    m->passed = judged;
}
