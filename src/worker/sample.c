/* SPDX-License-Identifier: MIT
 *
 * For each sample, the worker reads the thread's stack, then what blocks the thread, then whether another
 * thread serves the loop. On the worker thread.
 */
#include "worker/sample.h"

#include <string.h>

#include "script/joins.h"
#include "turn/samples.h"
#include "worker/blocked.h"
#include "worker/hang.h"
#include "worker/labels.h"
#include "worker/tracking.h"

static void store_changed(const struct hd_run *run, const struct hd_turn *turn, uint64_t at_ns) {
    struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    atomic_store_explicit(&w->worker.changed_ns, at_ns, memory_order_relaxed);
}

/* Adds the capture's stack to the turn's call tree, and stores in *now how the stack was captured. Returns
 * the number of frames. */
static uint32_t add_stack(struct hd_worker *worker, struct hd_turn *turn, const struct hd_capture *c,
                          struct hd_sample *now) {
    struct hd_walk walk;
    struct hd_frame *frames = worker->stacks.frames;
    uint32_t count = hd_stacks_read(&worker->stacks, turn->loop.thread, c, &walk);
    if (hd_tracking_is_over(worker->run, turn)) {
        count = hd_scripts_drop_changed(&worker->stacks.scripts, frames, count);
    }
    hd_cpu_profile_add(&worker->profile, &worker->turns.pool, turn->loop.thread, c, &walk, frames, count);
    now->leaf = hd_turns_add_stack(&worker->turns, turn, frames, count, c->at_ns);
    now->way = c->way;
    now->stop = walk.stop;
    now->depth = walk.stop == HD_STOP_ROOT ? walk.count + walk.cut : 0;
    now->cut = walk.cut + (count > HD_TREE_DEPTH_MAX ? count - HD_TREE_DEPTH_MAX : 0);
    return count;
}

static void read_python_now(struct hd_stacks *stacks, hd_thread_id thread, struct hd_probe *e) {
    struct hd_scripts *scripts = &stacks->scripts;
    int owner, tid = hd_stacks_own_tid(stacks, thread);
    if (e->evidence.kind == HD_EVIDENCE_LOCK) {
        struct hd_lock_seen *lock = &e->evidence.lock;
        lock->gil = lock->address != 0 && hd_scripts_is_gil(scripts, lock->address, &owner);
        lock->owner = lock->gil ? hd_stacks_thread(stacks, owner) : lock->owner;
        if (!lock->gil && hd_thread_id_is_none(hd_evidence_awaited_thread(e))) {
            lock->joined = hd_stacks_thread(stacks, hd_scripts_joined(scripts, tid));
        }
    }
    if (e->collector != HD_COLLECTOR_V8) {
        e->collector = hd_scripts_collects(scripts, tid) ? HD_COLLECTOR_PYTHON : HD_COLLECTOR_NONE;
    }
}

static bool is_same(const struct hd_probe *a, const struct hd_probe *b) {
    const struct hd_lock_seen *x = &a->evidence.lock, *y = &b->evidence.lock;
    return a->collector == b->collector && (a->evidence.kind != HD_EVIDENCE_LOCK ||
                                            (x->gil == y->gil && hd_thread_id_equal(x->owner, y->owner) &&
                                             hd_thread_id_equal(x->joined, y->joined)));
}

/* Reads the owner of Python's global lock or the joined thread, and whether a garbage collection runs. Both
 * may change while the thread's stack stays the same. Leaves both unchanged if the thread has moved on since
 * the sample, because the worker may then have read those of a later moment. */
static void read_python(struct hd_worker *worker, const struct hd_turn *turn, const struct hd_capture *c,
                        struct hd_probe *e) {
    struct hd_probe now = *e;
    read_python_now(&worker->stacks, turn->loop.thread, &now);
    if (is_same(&now, e)) {
        return;
    }
    if (!hd_tracking_is_over(worker->run, turn) && !hd_capture_has_moved(turn->loop.thread, c)) {
        *e = now;
    } else if (e->evidence.kind == HD_EVIDENCE_LOCK) { /* the address of the global lock is always the same */
        e->evidence.lock.gil = now.evidence.lock.gil;
    }
}

static void read_new_stack(struct hd_worker *worker, struct hd_turn *turn, const struct hd_capture *c,
                           struct hd_sample *now) {
    const struct hd_frame *frames = worker->stacks.frames;
    uint32_t count = add_stack(worker, turn, c, now);
    now->served = false;
    hd_probe_read(&worker->probe, turn->loop.thread, c, frames, count, turn->times.start_ns, &now->probe);
    if (hd_scripts_in_v8_collector(&worker->stacks.scripts, frames, count)) {
        now->probe.collector = HD_COLLECTOR_V8;
    }
    read_python(worker, turn, c, &now->probe);
}

/* Handles a sample with the same stack as the sample before. Reads again what may have changed: the owner of
 * a lock, whether a garbage collection runs, and whether a child has the terminal. */
static void read_same_stack(struct hd_worker *worker, struct hd_turn *turn, const struct hd_capture *c,
                            struct hd_sample *now) {
    hd_tree_again(&turn->samples.tree, now->leaf, c->at_ns);
    read_python(worker, turn, c, &now->probe);
    hd_probe_read_again(&worker->probe, turn->loop.thread, c, turn->times.start_ns, &now->probe);
}

/* Queries the recogniser about the call that blocks the thread. That call may be the loop's own wait, or the
 * thread may wait for work in a thread pool while another thread serves the loop. Ignores the turn if the
 * sample shows that the turn is no hang. */
static void check_wait(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg,
                       const struct hd_capture *c, bool is_new, struct hd_sample *now) {
    now->served = now->served || hd_blocked_is_served(worker->run, &worker->probe, turn, now);
    now->probe.not_a_hang |= now->served;
    if (is_new && !now->probe.not_a_hang) {
        hd_blocked_send(worker->run, &worker->probe, turn, c, now->depth);
    }
    if (now->probe.not_a_hang && (!now->served || turn->state != HANGDOG_STATE_LAUNCH)) {
        /* does not ignore a launch whose thread waits for work in a thread pool, because the launch may
         * continue after that wait */
        hd_hang_ignore(worker->run, turn, msg->start_ticks);
    }
}

void hd_sample_add(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg,
                   const struct hd_capture *c) {
    bool first = !turn->samples.newest.valid, is_new = !c->same || first;
    struct hd_sample now = turn->samples.newest;
    hd_labels_read(worker->run, turn, msg->start_ticks, c->at_ns,
                   c->at_ns - (first ? turn->times.start_ns : now.at_ns));
    now.valid = true;
    now.at_ns = c->at_ns;
    now.sched = c->sched;
    now.state = c->state;
    if (is_new) {
        now.sp = c->regs.sp;
        read_new_stack(worker, turn, c, &now);
    } else {
        read_same_stack(worker, turn, c, &now);
    }
    check_wait(worker, turn, msg, c, is_new, &now);
    bool changed = hd_samples_differ(turn, &now) || first;
    hd_samples_add(turn, &now, msg->excluded_ns);
    if (changed) {
        store_changed(worker->run, turn, c->at_ns);
    }
    uint64_t age_ns = c->at_ns - turn->times.start_ns;
    turn->times.excluded_ns = msg->excluded_ns;
    turn->samples.age_ns = age_ns > msg->excluded_ns ? age_ns - msg->excluded_ns : 0;
    turn->samples.same = c->same;
}

void hd_sample_add_late(struct hd_worker *worker, struct hd_turn *turn, const struct hd_capture *c) {
    struct hd_sample answer = {.at_ns = c->at_ns};
    bool had_stack = turn->samples.has_stack;
    (void)add_stack(worker, turn, c, &answer);
    if (hd_samples_differ(turn, &answer)) {
        store_changed(worker->run, turn, hd_os_now_ns());
    }
    hd_samples_answer(turn, &answer);
    /* for the turn's first stack, halves the hang's age at its last report. A report is due once the hang is
     * twice as old, so a report with this stack is due at once. */
    turn->report.written_age_ns /= had_stack ? 1 : 2;
}

void hd_sample_try(struct hd_worker *worker, const struct hd_capture *c) {
    struct hd_walk walk;
    struct hd_probe probe;
    hd_stacks_unwind(&worker->stacks, c, &walk);
    hd_probe_read(&worker->probe, worker->own_thread, c, worker->stacks.frames, walk.count, hd_os_now_ns(),
                  &probe);
}
