/* SPDX-License-Identifier: MIT
 *
 * The worker thread: unwinds what the monitor captured, merges it into the hang's call tree, writes reports.
 * It may wait for a disk. No allocation; nothing here is called by the watched thread.
 */
#include "monitor/worker.h"

#include <errno.h>
#include <string.h>

static uint64_t wall_now(void) {
    uint64_t ns = 0;
    hd_os.wall_clock(&ns);
    return ns;
}

static struct hd_hang *hang_of(struct hd_worker *k, const struct hd_message *msg) {
    for (unsigned i = 0; i < HD_HANGS_MAX; i++) {
        if (k->hang[i].used && k->hang[i].loop == msg->loop && k->hang[i].generation == msg->generation) {
            return &k->hang[i];
        }
    }
    return NULL;
}

static void hang_free(struct hd_hang *h) {
    hd_tree_free(&h->tree);
    h->used = false;
}

/* A fifth hang at the same time is not followed; its loop is told by the session's histogram. */
static struct hd_hang *hang_begin(struct hd_worker *k, const struct hd_message *msg) {
    struct hd_hang *h = hang_of(k, msg);
    for (unsigned i = 0; h == NULL && i < HD_HANGS_MAX; i++) {
        h = !k->hang[i].used ? &k->hang[i] : NULL;
    }
    if (h == NULL) {
        return NULL;
    }
    if (h->used) {
        hang_free(h);
    }
    memset(h, 0, sizeof *h);
    uint64_t now_ns = hd_os_now_ns();
    h->used = true;
    h->loop = msg->loop;
    h->generation = msg->generation;
    h->state = msg->state;
    h->activity = msg->activity;
    h->start_ns = msg->at_ns;
    h->start_wall_ns = wall_now() - (now_ns > msg->at_ns ? now_ns - msg->at_ns : 0);
    h->threshold_ns = msg->threshold_ns;
    h->begun = msg->sched;
    h->begun_known = msg->sched_known;
    h->cost_before = msg->cost;
    h->cpu_before_ns = msg->cpu_ns;
    h->worker_cpu_before_ns = hd_os_thread_cpu_ns();
    hd_tree_init(&h->tree, &k->pool);
    return h;
}

/* ---- samples -------------------------------------------------------------------------------- */

/* A running thread's figures are brought up to date at each tick of the kernel: 10 ms at the most. */
#define FIGURES_LATE_NS (10 * HD_NS_PER_MS)

static bool found_running(uint8_t state) {
    return state == HD_RUN_RUNNING || state == HD_RUN_RUNNABLE;
}

/* Time that it was blocked between two samples goes to what a sample near found it blocked on. */
static void charge_between(struct hd_hang *h) {
    if (h->between_ns > 0 && h->blocked.for_ns > 0) {
        struct hd_evidence e = h->blocked;
        e.for_ns = h->between_ns;
        e.cpu_ns = e.delay_ns = 0;
        hd_cause_add(&h->sums, &e);
        h->between_ns = 0;
    }
}

/* Evidence `e` stands for `ns`, in which the figures went from `from` to `to` (NULL: not known), and after
 * which the thread was found in `state`. A sample that finds a thread running says nothing of the time in
 * which, as the figures tell, it neither ran nor waited for a processor: it was blocked, and ran again by the
 * next look. */
static void weigh(struct hd_hang *h, struct hd_evidence *e, uint64_t ns, const struct hd_sched *from,
                  const struct hd_sched *to, uint8_t state) {
    bool known = from != NULL && to != NULL;
    e->for_ns = ns;
    e->cpu_ns = known ? to->cpu_ns - from->cpu_ns : 0;
    e->delay_ns = known ? to->delay_ns - from->delay_ns : 0;
    if (found_running(e->state) && known && to->slices != from->slices && state != HD_RUN_RUNNABLE) {
        uint64_t late_ns =
            found_running(state) ? FIGURES_LATE_NS : 0; /* of a blocked thread they are exact */
        uint64_t told_ns = e->cpu_ns + e->delay_ns + late_ns;
        if (ns > told_ns) {
            h->between_ns += ns - told_ns;
            e->for_ns = told_ns;
        }
    }
    hd_cause_add(&h->sums, e);
}

/* The newest sample's time is known now: until `until_ns`, when the thread was found in `state`. */
static void settle(struct hd_hang *h, uint64_t until_ns, uint64_t excluded_ns, const struct hd_sched *sched,
                   uint8_t state) {
    struct hd_last_sample *last = &h->last;
    if (!last->valid || until_ns <= last->at_ns) {
        return;
    }
    uint64_t ns = until_ns - last->at_ns;
    uint64_t stopped_ns = excluded_ns > h->excluded_told_ns ? excluded_ns - h->excluded_told_ns : 0;
    h->excluded_told_ns = excluded_ns;
    hd_tree_charge(&h->tree, last->leaf, ns);
    weigh(h, &last->evidence, stopped_ns < ns ? ns - stopped_ns : 0, &last->sched, sched, state);
    if (h->timeline_count > 0) {
        h->timeline[(h->timeline_count - 1) % HD_TIMELINE].for_ns = ns;
    }
}

/* Time from the turn's start to its first sample: of the stack, what that saw is the best guess there is; of
 * the processor, the figures tell. */
static void settle_start(struct hd_hang *h, const struct hd_capture *c, uint64_t excluded_ns) {
    if (c->at_ns > h->start_ns) {
        uint64_t ns = c->at_ns - h->start_ns;
        hd_tree_charge(&h->tree, h->last.leaf, ns);
        struct hd_evidence e = h->last.evidence;
        weigh(h, &e, excluded_ns < ns ? ns - excluded_ns : 0, h->begun_known ? &h->begun : NULL, &c->sched,
              c->state);
    }
}

static void note(struct hd_hang *h, const struct hd_capture *c) {
    h->timeline[h->timeline_count++ % HD_TIMELINE] = (struct hd_timeline_entry){.at_ns = c->at_ns,
                                                                                .leaf = h->last.leaf,
                                                                                .syscall_nr = c->syscall_nr,
                                                                                .state = c->state,
                                                                                .way = h->last.way,
                                                                                .stop = h->last.stop};
    h->taken++;
}

static void unwind_sample(struct hd_worker *k, const struct hd_capture *c, struct hd_walk *walk) {
    if (c->way == HD_WAY_KERNEL || c->stack_bytes == 0) {
        *walk = (struct hd_walk){.stop = c->state == HD_RUN_GONE ? HD_STOP_EXITED : HD_STOP_NO_ANSWER};
        return;
    }
    hd_unwind(k->unwinder, &c->regs, c->stack, c->stack_addr, c->stack_bytes, 0, k->frames, HD_FRAMES_MAX,
              walk);
}

static void on_sample(struct hd_monitor *m, struct hd_worker *k, struct hd_hang *h,
                      const struct hd_message *msg, const struct hd_capture *c) {
    struct hd_watch *w = &m->watch[h->loop];
    bool first = !h->last.valid;
    uint32_t leaf_before = h->last.leaf;
    settle(h, c->at_ns, msg->excluded_ns, &c->sched, c->state);
    if (!c->same || first) {
        struct hd_walk walk;
        unwind_sample(k, c, &walk);
        uint32_t count =
            hd_scripts_expand(&k->scripts, k->frames, walk.count, HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX,
                              walk.cut != 0 ? HD_FRAMES_MAX / 2 : 0, c->stack, c->stack_addr, c->stack_bytes);
        h->last.leaf = hd_tree_add(&h->tree, k->frames, count, c->at_ns);
        h->last.way = c->way;
        h->last.stop = walk.stop;
        h->last.cut = walk.cut + (count > HD_TREE_DEPTH_MAX ? count - HD_TREE_DEPTH_MAX : 0);
        hd_evidence_gather(k, w->loop.tid, c, k->frames, count, h->start_ns, &h->last.evidence);
    }
    if (h->last.evidence.gave_terminal) {
        atomic_store_explicit(&w->loop.excused, msg->turn, memory_order_relaxed);
    }
    if (c->same && !first) {
        hd_tree_again(&h->tree, h->last.leaf, c->at_ns);
    }
    h->last.valid = true;
    h->last.at_ns = c->at_ns;
    h->last.sched = c->sched;
    h->last.state = c->state;
    note(h, c);
    if (first) {
        settle_start(h, c, msg->excluded_ns);
        h->excluded_told_ns = msg->excluded_ns;
    }
    if (c->state == HD_RUN_BLOCKED || c->state == HD_RUN_UNINTERRUPTIBLE) {
        h->blocked = h->last.evidence;
        h->blocked.for_ns = 1;
        charge_between(h);
    }
    if (first || h->last.leaf != leaf_before) {
        atomic_store_explicit(&w->changed_ns, c->at_ns, memory_order_relaxed);
    }
    uint64_t age_ns = c->at_ns - h->start_ns;
    if (h->opened && age_ns >= 2 * h->written_age_ns) {
        h->duration_ns = age_ns > h->excluded_ns ? age_ns - h->excluded_ns : 0;
        hd_publish(m, k, h, false);
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

static void on_open(struct hd_monitor *m, struct hd_worker *k, struct hd_hang *h,
                    const struct hd_message *msg) {
    h->opened = true;
    h->state = msg->state;
    h->threshold_ns = msg->threshold_ns;
    h->duration_ns = msg->duration_ns;
    h->excluded_ns = msg->excluded_ns;
    hd_uuid_make(h->id, wall_now());
    int owner = h->last.valid ? h->last.evidence.lock_owner_tid : 0;
    hd_process_figures(k);
    hd_threads_capture(k, m->watch[h->loop].loop.tid, owner,
                       atomic_load_explicit(&m->tid, memory_order_relaxed));
    for (unsigned i = 0; i < HD_HANGS_MAX; i++) {
        k->hang[i].whole = &k->hang[i] == h; /* one set of thread records: the newest hang's */
    }
    hd_publish(m, k, h, false);
}

/* The program ended while it waited for a child, and its loop never came back from anything: it ran others,
 * make its jobs, and the last of them were waited for when the loop was over. */
static bool ends_as_batch(const struct hd_monitor *m, const struct hd_hang *h) {
    const struct hd_loop *loop = &m->watch[h->loop].loop;
    struct hd_cause cause;
    hd_cause_decide(&h->sums, &cause);
    return m->settings.held && !h->shown && cause.kind == HD_CAUSE_CHILD &&
           atomic_load_explicit(&m->stopping, memory_order_relaxed) &&
           !atomic_load_explicit(&loop->returns, memory_order_relaxed);
}

/* The program ended before its thread had a loop: what was taken for a launch is how it lives, while the
 * loops are other threads'. */
static bool ends_without_loop(const struct hd_monitor *m, const struct hd_hang *h) {
    const struct hd_loop *loop = &m->watch[h->loop].loop;
    return m->settings.held && !h->shown && h->state == HANGDOG_STATE_LAUNCH &&
           atomic_load_explicit(&m->stopping, memory_order_relaxed) &&
           atomic_load_explicit(&loop->launched, memory_order_relaxed) == 0;
}

static void on_end(struct hd_monitor *m, struct hd_worker *k, struct hd_hang *h,
                   const struct hd_message *msg) {
    settle(h, msg->at_ns, msg->excluded_ns, msg->sched_known ? &msg->sched : NULL, HD_RUN_RUNNING);
    if (h->blocked.for_ns == 0 && h->between_ns > 0) { /* never seen blocked: it may have run after all */
        h->blocked = h->last.evidence;
        h->blocked.for_ns = 1;
    }
    charge_between(h);
    h->duration_ns = msg->duration_ns;
    h->excluded_ns = msg->excluded_ns;
    if (h->opened && (ends_as_batch(m, h) || ends_without_loop(m, h))) {
        hd_publish_withdraw(m, k, h);
    } else if (h->opened) {
        hd_publish(m, k, h, true);
    }
    hang_free(h);
}

static void on_dry(struct hd_worker *k, const struct hd_capture *c) {
    struct hd_walk walk;
    struct hd_evidence evidence;
    unwind_sample(k, c, &walk);
    hd_evidence_gather(k, k->own_tid, c, k->frames, walk.count, hd_os_now_ns(), &evidence);
}

static void on_track(struct hd_worker *k, const struct hd_message *msg) {
    bool moved = !hd_modules_still_valid(&k->modules), sole = true;
    if (moved) {
        hd_unwinder_flush(k->unwinder);
    }
    for (unsigned i = 0; i < HD_HANGS_MAX; i++) {
        sole = sole && !k->hang[i].used;
    }
    hd_scripts_begin(&k->scripts, sole, moved);
    hang_begin(k, msg);
}

/* What waited since the last time may speak against the loop whose reports are held. */
static void recognise_last(struct hd_monitor *m, struct hd_worker *k) {
    const struct hd_recogniser *r = &m->settings.recogniser;
    if (r->due != NULL && r->due(r->ctx, hd_os_now_ns())) {
        r->run(r->ctx, k);
    }
}

/* False: the last message was there. */
static bool handle(struct hd_monitor *m, struct hd_worker *k, const struct hd_message *msg) {
    const struct hd_capture *capture = (const struct hd_capture *)(const void *)(msg + 1);
    struct hd_hang *h = hang_of(k, msg);
    if (h != NULL) {
        h->cost = msg->cost;
        h->cpu_ns = msg->cpu_ns;
        h->late_max_ns = msg->late_max_ns;
        h->degraded |= msg->degraded;
    }
    switch ((enum hd_message_type)msg->type) {
    case HD_MSG_STOP:
        recognise_last(m, k);
        return false;
    case HD_MSG_DRY:
        on_dry(k, capture);
        break;
    case HD_MSG_SURE:
        hd_publish_held(k, msg->loop);
        break;
    case HD_MSG_TRACK:
        on_track(k, msg);
        break;
    case HD_MSG_SAMPLE:
        if (h != NULL) {
            on_sample(m, k, h, msg, capture);
        }
        break;
    case HD_MSG_OPEN:
        if (h != NULL && !h->opened) {
            on_open(m, k, h, msg);
        }
        break;
    case HD_MSG_END:
        if (h != NULL) {
            on_end(m, k, h, msg);
        }
        break;
    case HD_MSG_WAITS:
        m->settings.recogniser.run(m->settings.recogniser.ctx, k);
        break;
    case HD_MSG_FORGET:
        if (h != NULL) {
            if (h->opened) {
                hd_publish_withdraw(m, k, h);
            }
            hang_free(h);
        }
        break;
    }
    return true;
}

void *hd_worker_run(void *monitor) {
    struct hd_monitor *m = monitor;
    struct hd_worker *k = m->worker;
    hd_os.set_thread_name("hangdog-worker");
    hd_os.close_all_unshared(); /* where it fails, ours are numbers of the program's table */
    k->own_tid = hd_os.get_tid();
    hd_capture_files_open();
    hd_worker_init(m, k);
    hd_monitor_is_ready(m);
    for (bool on = true; on;) {
        uint32_t seen = atomic_load_explicit(&m->worker_wake, memory_order_seq_cst);
        uint32_t bytes;
        const struct hd_message *msg;
        while (on && (msg = hd_ring_peek(&m->ring, &bytes)) != NULL) {
            on = handle(m, k, msg);
            hd_ring_release(&m->ring);
        }
        atomic_store_explicit(&m->worker_cpu_ns, hd_os_thread_cpu_ns(), memory_order_relaxed);
        if (on) {
            hd_os.futex_wait((uint32_t *)&m->worker_wake, seen, UINT64_MAX, false);
        }
    }
    hd_publish_session(m, k);
    hd_spool_close(&k->spool);
    atomic_store_explicit(&m->worker_done, 1, memory_order_release);
    hd_os.futex_wake((uint32_t *)&m->worker_done, INT32_MAX, false);
    return NULL;
}
