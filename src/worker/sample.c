/* SPDX-License-Identifier: MIT
 *
 * Worker: unwinds a sample and adds it to its turn. No allocation.
 */
#include "worker/sample.h"

#include <string.h>

#include "cause/linux/child.h"
#include "cause/linux/lock.h"
#include "cause/probe.h"
#include "turn/capacity.h"
#include "turn/samples.h"
#include "worker/blocked.h"
#include "worker/hang.h"

#define MODULES_NS (1 * HD_NS_PER_S) /* between two looks whether they are still there: some 50 us */

/* A handler of the program's whose signal came before ours as the thread left the kernel: it has not begun.
 * Which of its callers that is, the frame of the signal tells. */
static void leave_out_handlers(struct hd_worker *k, struct hd_walk *walk) {
    struct hd_frame *f = k->frames;
    while (walk->count > 2 && f[0].trust == HD_TRUST_CONTEXT && f[0].pc == f[0].start &&
           f[2].trust == HD_TRUST_SIGNAL) {
        walk->count -= 2;
        memmove(f, f + 2, walk->count * sizeof *f);
        f[0].trust = HD_TRUST_CONTEXT;
    }
}

static void unwind_sample(struct hd_worker *k, const struct hd_capture *c, struct hd_walk *walk) {
    if (c->way == HD_WAY_KERNEL || c->stack_bytes == 0) {
        *walk = (struct hd_walk){.stop = c->state == HD_RUN_GONE ? HD_STOP_EXITED
                                         : c->no_room            ? HD_STOP_NO_ROOM
                                                                 : HD_STOP_NO_ANSWER};
        return;
    }
    hd_unwind(k->unwinder, &c->regs, c->stack, c->stack_addr, c->stack_bytes, 0, k->frames, HD_FRAMES_MAX,
              walk);
    walk->stop = hd_stop_of(walk, c);
    leave_out_handlers(k, walk);
}

void hd_sample_check_modules(struct hd_worker *k, bool keep) {
    if (!hd_modules_still_valid(&k->modules, keep)) {
        hd_unwinder_flush(k->unwinder);
    }
    k->modules_seen_ns = hd_os_now_ns();
}

uint32_t hd_sample_frames(struct hd_worker *k, hd_thread_id thread, const struct hd_capture *c,
                          struct hd_walk *walk) {
    if (hd_os_now_ns() - k->modules_seen_ns >= MODULES_NS) {
        hd_sample_check_modules(k, true);
    }
    unwind_sample(k, c, walk);
    const struct hd_script_stack stack = {.tid = hd_thread_id_tid(thread),
                                          .cut_at = walk->cut != 0 ? HD_FRAMES_MAX / 2 : 0,
                                          .bytes = c->stack,
                                          .address = c->stack_addr,
                                          .size = c->stack_bytes};
    return hd_scripts_expand(&k->scripts, k->frames, walk->count, HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX,
                             &stack);
}

/* A stack that is new to us, in the hang's tree. Returns its frames' number. */
static uint32_t place_stack(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c,
                            struct hd_sample *now) {
    struct hd_walk walk;
    uint32_t count = hd_sample_frames(k, h->loop.thread, c, &walk);
    hd_cpu_profile_add(k, h->loop.thread, c, &walk, count);
    now->leaf = hd_capacity_add_stack(&k->turns, h, k->frames, count, c->at_ns);
    now->way = c->way;
    now->stop = walk.stop;
    now->depth = walk.stop == HD_STOP_ROOT ? walk.count + walk.cut : 0;
    now->cut = walk.cut + (count > HD_TREE_DEPTH_MAX ? count - HD_TREE_DEPTH_MAX : 0);
    return count;
}

/* Both change while the stack stays the same. */
static void see_python(const struct hd_worker *k, int tid, struct hd_probe *e) {
    int owner;
    if (e->evidence.kind == HD_EVIDENCE_LOCK) {
        struct hd_lock_seen *lock = &e->evidence.lock;
        lock->gil = lock->address != 0 && hd_scripts_is_gil(&k->scripts, lock->address, &owner);
        lock->owner_tid = lock->gil ? owner : lock->owner_tid;
    }
    if (e->collector != HD_COLLECTOR_V8) {
        e->collector = hd_scripts_collects(&k->scripts, tid) ? HD_COLLECTOR_PYTHON : HD_COLLECTOR_NONE;
    }
}

static void see_stack(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c,
                      struct hd_sample *now) {
    uint32_t count = place_stack(k, h, c, now);
    now->served = false;
    hd_probe_read(&k->probe, hd_thread_id_tid(h->loop.thread), c, k->frames, count, h->times.start_ns,
                  &now->probe);
    if (hd_scripts_in_v8_collector(&k->scripts, k->frames, count)) {
        now->probe.collector = HD_COLLECTOR_V8;
    }
    see_python(k, hd_thread_id_tid(h->loop.thread), &now->probe);
}

/* The same stack again: what may have changed nevertheless. */
static void see_again(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c,
                      struct hd_sample *now) {
    hd_tree_again(&h->samples.tree, now->leaf, c->at_ns);
    see_python(k, hd_thread_id_tid(h->loop.thread), &now->probe);
    if (hd_evidence_lock(&now->probe)->ownable) {
        struct hd_lock_seen *lock = &now->probe.evidence.lock; /* the owner may be another one by now */
        lock->owner_tid = hd_lock_owner_now(&k->probe, c, (enum hd_lock_kind)lock->kind, lock->owned);
        lock->owned |= lock->owner_tid != 0;
    }
    if (now->probe.child.alive) { /* which may have come to the terminal by now */
        struct hd_probe child = {.syscall_nr = now->probe.syscall_nr,
                                 .child.vforked = now->probe.child.vforked};
        hd_child_find(&k->probe, hd_thread_id_tid(h->loop.thread), h->times.start_ns, &child);
        now->probe.not_a_hang |= child.not_a_hang;
    }
}

void hd_sample_add(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg,
                   const struct hd_capture *c) {
    struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop.slot);
    bool first = !h->samples.newest.valid, is_new = !c->same || first;
    struct hd_sample now = h->samples.newest;
    now.valid = true;
    now.at_ns = c->at_ns;
    now.sched = c->sched;
    now.state = c->state;
    if (is_new) {
        see_stack(k, h, c, &now);
    } else {
        see_again(k, h, c, &now);
    }
    now.served = now.served || hd_blocked_is_served(k, h, &now);
    now.probe.not_a_hang |= now.served;
    if (is_new && !now.probe.not_a_hang) {
        hd_blocked_send(k, h, c, now.depth);
    }
    if (now.probe.not_a_hang && (!now.served || h->state != HANGDOG_STATE_LAUNCH)) {
        hd_hang_ignore(k->run, h, msg->start_ticks); /* of a launch only the rests: it works in between */
    }
    bool changed = hd_samples_differ(h, &now) || first;
    hd_samples_add(h, &now, msg->excluded_ns);
    if (changed) {
        atomic_store_explicit(&w->worker.changed_ns, c->at_ns, memory_order_relaxed);
    }
    uint64_t age_ns = c->at_ns - h->times.start_ns;
    h->times.excluded_ns = msg->excluded_ns;
    h->samples.age_ns = age_ns > h->times.excluded_ns ? age_ns - h->times.excluded_ns : 0;
    h->samples.same = c->same;
}

void hd_sample_add_late(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c) {
    struct hd_sample answer = {.at_ns = c->at_ns};
    bool news = !h->samples.has_stack;
    (void)place_stack(k, h, c, &answer);
    if (hd_samples_differ(h, &answer)) {
        atomic_store_explicit(&hd_watch_at(&k->run->watches, h->loop.slot)->worker.changed_ns, hd_os_now_ns(),
                              memory_order_relaxed);
    }
    hd_samples_answer(h, &answer);
    h->report.written_age_ns /= news ? 2 : 1; /* what was written has no stack */
}

void hd_sample_try(struct hd_worker *k, const struct hd_capture *c) {
    struct hd_walk walk;
    struct hd_probe evidence;
    unwind_sample(k, c, &walk);
    hd_probe_read(&k->probe, hd_thread_id_tid(k->own_thread), c, k->frames, walk.count, hd_os_now_ns(),
                  &evidence);
}
