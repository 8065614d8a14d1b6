/* SPDX-License-Identifier: MIT */
#include "preload/attach/attach_recogniser.h"

#include "preload/attach/named_threads.h"
#include "preload/waits/recognition.h"

static struct hd_record *record;
/* The certainty (enum hd_record_certainty) of the best known loop of all named threads. Only the worker uses
 * this variable. */
static uint32_t named_known;

static bool is_due(void *main_waits, uint64_t now_ns) {
    return hd_recognition_due(main_waits, now_ns) || hd_named_due(now_ns);
}

static void store_known(const struct hd_wait_table *t) {
    uint32_t own = t->recognition->certainty;
    atomic_store_explicit(&record->loop.certainty, own > named_known ? own : named_known,
                          memory_order_relaxed);
}

static void judge(void *main_waits, const struct hd_stack_tools *tools) {
    struct hd_wait_table *main_table = main_waits;
    hd_recognition_judge(main_waits, tools);
    hd_named_set_main_loop(main_table->recognition->judge.rule.loop != HD_RULE_NONE);
    named_known = hd_named_recognise(tools, NULL, NULL);
    /* a main thread that never waits shows nothing of the loops in other threads */
    bool waits = atomic_load_explicit(&main_table->order, memory_order_relaxed) != 0;
    const struct hd_wait_table *t = waits ? main_table : hd_named_busiest(main_table);
    atomic_store_explicit(&record->loop.waits, atomic_load_explicit(&t->order, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&record->loop.waited_ns, hd_recognition_waited_ns(t), memory_order_relaxed);
    uint64_t call_pc, caller_pc;
    if (hd_recognition_candidate(t, &call_pc, &caller_pc)) {
        atomic_store_explicit(&record->loop.call_pc, call_pc, memory_order_relaxed);
        atomic_store_explicit(&record->loop.caller_pc, caller_pc, memory_order_relaxed);
    }
    store_known(main_table);
}

static void is_blocked(void *main_waits, const struct hd_loop *loop, struct hd_blocked *how) {
    struct hd_wait_table *t = main_waits;
    if (t->loop == loop) {
        hd_recognition_blocked(t, how);
    } else {
        named_known = hd_named_recognise(NULL, loop, how);
    }
    store_known(t);
}

struct hd_recogniser hd_attach_recogniser(struct hd_wait_table *t, struct hd_record *r) {
    record = r;
    hd_recognition_init(t->recognition, r);
    return (struct hd_recogniser){.due = is_due, .judge = judge, .blocked = is_blocked, .ctx = t};
}
