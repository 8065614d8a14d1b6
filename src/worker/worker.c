/* SPDX-License-Identifier: MIT
 *
 * The worker thread: unwinds what the monitor captured, merges it into the hang's call tree, writes reports.
 * It may wait for a disk. No allocation; nothing here is called by the watched thread.
 */
#include "cause/linux/child.h"
#include "os/linux/proc_stat.h"
#include "worker/turn.h"

#include <string.h>
#include <sys/syscall.h>

#include "cause/linux/reply_thread.h"
#include "os/linux/proc_files.h"
#include "worker/crash_report.h"
#include "worker/deferred.h"

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

#define FREEZE_NS (5 * HD_NS_PER_S)  /* so long a hang is reported before its loop is certain */
#define SERVERS_MAX 64               /* threads that are asked; each takes some 4 us */
#define MODULES_NS (1 * HD_NS_PER_S) /* between two looks whether they are still there: some 50 us */

/* A library may have gone, and another have come in its place: nothing else is sure then. What has samples in
 * it is kept until they are told. */
static void look_after_modules(struct hd_worker *k, bool keep) {
    if (!hd_modules_still_valid(&k->modules, keep)) {
        hd_unwinder_flush(k->unwinder);
    }
    k->modules_seen_ns = hd_os_now_ns();
}

/* The program has stopped us and does not wait for us: what is recognised may be another worker's by now. */
static bool is_left_behind(const struct hd_run *r) {
    return atomic_load_explicit(&r->channel.worker_left, memory_order_acquire);
}

/* Who has the terminal is asked now: of a sample that is read late it tells only if the thread has not run
 * since. A shell's command may have come and gone, which has nothing to do with where the shell idles. */
static bool is_of_now(const struct hd_worker *k, const struct hd_turn *h, const struct hd_capture *c) {
    return hd_own_terminal(k->probe.proc_fd) == 0 || hd_thread_stands_still(h->tid, &c->sched);
}

/* Only a whole stack tells how far from the root it is. */
static void send_where_blocked(const struct hd_worker *k, const struct hd_turn *h, const struct hd_capture *c,
                               uint32_t depth) {
    const struct hd_recogniser *r = &k->run->settings.recogniser;
    const struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop);
    if (r->blocked != NULL && c->state == HD_RUN_BLOCKED && depth != 0 && !is_left_behind(k->run) &&
        is_of_now(k, h, c)) {
        r->blocked(r->ctx, &w->loop, &(struct hd_blocked){.sp = c->regs.sp, .depth = depth});
    }
}

static bool is_epoll_wait(int32_t nr) {
#ifdef SYS_epoll_wait
    if (nr == SYS_epoll_wait) {
        return true;
    }
#endif
    return nr == SYS_epoll_pwait || nr == SYS_epoll_pwait2;
}

static bool another_waits_by(const struct hd_worker *k, int tid, int32_t epoll) {
    struct hd_capture call;
    struct hd_proc_tasks tasks;
    bool waits = false;
    hd_proc_tasks_start(&tasks, k->probe.proc_fd);
    for (int other, checked = 0; !waits && checked < SERVERS_MAX && (other = hd_proc_tasks_next(&tasks)) != 0;
         checked++) {
        waits = other != tid && hd_thread_syscall(k->probe.proc_fd, other, &call) &&
                is_epoll_wait(call.syscall_nr) && (int32_t)call.syscall_args[0] == epoll;
    }
    hd_proc_tasks_end(&tasks);
    return waits;
}

/* It has not run, and was not woken to: such a one, without a processor, runs as far as its call tells. */
static bool still_waits(const struct hd_worker *k, int tid, const struct hd_sched *since) {
    struct hd_capture call;
    return hd_thread_syscall(k->probe.proc_fd, tid, &call) && call.syscall_nr == SYS_futex &&
           hd_thread_stands_still(tid, since);
}

/* The thread waits for no mutex, about where its loop waits by an epoll instance, and another one does by the
 * same: in a pool whoever comes first serves that, and the others are idle until it is their turn. Who should
 * serve may be busy, or without a processor, just now: then it is asked again at the next sample, also at one
 * that finds nothing new. However late we read that, the thread has not run since: it waited there when the
 * other one was seen to serve. */
static bool is_served(const struct hd_worker *k, const struct hd_turn *h, const struct hd_last_sample *s) {
    const struct hd_recogniser *r = &k->run->settings.recogniser;
    struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop);
    struct hd_blocked how = {.depth = s->depth, .in_turn = true, .epoll = -1};
    bool may = r->blocked != NULL && s->evidence.syscall_nr == SYS_futex && !s->evidence.mutex &&
               s->depth != 0 && !is_left_behind(k->run);
    if (may) {
        r->blocked(r->ctx, &w->loop, &how);
    }
    if (how.epoll >= 0) {
        how.served = another_waits_by(k, h->tid, how.epoll) && still_waits(k, h->tid, &s->sched);
    }
    if (how.served) {
        r->blocked(r->ctx, &w->loop, &how);
    }
    /* in a launch it may turn out later where the loop waits */
    may &= !how.served && (how.epoll >= 0 || h->state == HANGDOG_STATE_LAUNCH);
    atomic_store_explicit(&w->wants_equal, may, memory_order_relaxed);
    return how.served;
}

static void excuse(const struct hd_run *r, struct hd_turn *h, uint64_t turn) {
    atomic_store_explicit(&hd_watch_at(&r->watches, h->loop)->loop.ignored_turn, turn, memory_order_relaxed);
    h->not_a_hang = true;
}

static void look_at_threads(struct hd_worker *k, struct hd_turn *h) {
    const struct hd_probe *e = &h->last.evidence;
    int owner = !h->last.valid ? 0 : e->lock_owner_tid != 0 ? e->lock_owner_tid : e->joined_tid;
    hd_threads_capture(k, h->tid, owner, atomic_load_explicit(&k->run->channel.tid, memory_order_relaxed));
    h->threads = k->threads + k->threads_left_out;
    hd_threads_find_deadlock(k, h);
}

uint32_t hd_worker_frames(struct hd_worker *k, int tid, const struct hd_capture *c, struct hd_walk *walk) {
    if (hd_os_now_ns() - k->modules_seen_ns >= MODULES_NS) {
        look_after_modules(k, true);
    }
    unwind_sample(k, c, walk);
    const struct hd_script_stack stack = {.tid = tid,
                                          .cut_at = walk->cut != 0 ? HD_FRAMES_MAX / 2 : 0,
                                          .bytes = c->stack,
                                          .address = c->stack_addr,
                                          .size = c->stack_bytes};
    return hd_scripts_expand(&k->scripts, k->frames, walk->count, HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX,
                             &stack);
}

/* A stack that is new to us, in the hang's tree. Returns its frames' number. */
static uint32_t place_stack(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c,
                            struct hd_last_sample *now) {
    struct hd_walk walk;
    uint32_t count = hd_worker_frames(k, h->tid, c, &walk);
    hd_cpu_profile_add(k, h->tid, c, &walk, count);
    now->leaf = hd_turn_add_stack(k, h, count, c->at_ns);
    now->way = c->way;
    now->stop = walk.stop;
    now->depth = walk.stop == HD_STOP_ROOT ? walk.count + walk.cut : 0;
    now->cut = walk.cut + (count > HD_TREE_DEPTH_MAX ? count - HD_TREE_DEPTH_MAX : 0);
    return count;
}

static void see_stack(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c,
                      struct hd_last_sample *now) {
    uint32_t count = place_stack(k, h, c, now);
    now->served = false;
    hd_probe_read(&k->probe, h->tid, c, k->frames, count, h->start_ns, &now->evidence);
}

/* The same stack again: what may have changed nevertheless. */
static void see_again(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c,
                      struct hd_last_sample *now) {
    hd_tree_again(&h->tree, now->leaf, c->at_ns);
    if (now->evidence.mutex) { /* whose owner may be another one by now */
        now->evidence.lock_owner_tid = hd_mutex_owner_now(&k->probe, c, now->evidence.owned);
        now->evidence.owned |= now->evidence.lock_owner_tid != 0;
    }
    if (now->evidence.child_alive) { /* which may have come to the terminal by now */
        struct hd_probe child = {.syscall_nr = now->evidence.syscall_nr, .vforked = now->evidence.vforked};
        hd_child_find(&k->probe, h->tid, h->start_ns, &child);
        now->evidence.not_a_hang |= child.not_a_hang;
    }
}

static void on_sample(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg,
                      const struct hd_capture *c) {
    struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop);
    bool first = !h->last.valid, is_new = !c->same || first;
    struct hd_last_sample now = h->last;
    now.valid = true;
    now.at_ns = c->at_ns;
    now.sched = c->sched;
    now.state = c->state;
    if (is_new) {
        see_stack(k, h, c, &now);
    } else {
        see_again(k, h, c, &now);
    }
    now.served = now.served || is_served(k, h, &now);
    now.evidence.not_a_hang |= now.served;
    if (is_new && !now.evidence.not_a_hang) {
        send_where_blocked(k, h, c, now.depth);
    }
    if (now.evidence.not_a_hang && (!now.served || h->state != HANGDOG_STATE_LAUNCH)) {
        excuse(k->run, h, msg->turn); /* of a launch only the rests: it works in between */
    }
    bool changed = hd_turn_differs(h, &now) || first;
    hd_turn_add(h, &now, msg->excluded_ns);
    if (changed) {
        atomic_store_explicit(&w->changed_ns, c->at_ns, memory_order_relaxed);
    }
    uint64_t age_ns = c->at_ns - h->start_ns;
    h->excluded_ns = msg->excluded_ns;
    h->seen_age_ns = age_ns > h->excluded_ns ? age_ns - h->excluded_ns : 0;
    h->seen_same = c->same;
}

/* Where the thread was when it gave no answer. */
static void on_late(struct hd_worker *k, struct hd_turn *h, const struct hd_capture *c) {
    struct hd_last_sample answer = {.at_ns = c->at_ns};
    bool news = !h->known;
    (void)place_stack(k, h, c, &answer);
    if (hd_turn_differs(h, &answer)) {
        atomic_store_explicit(&hd_watch_at(&k->run->watches, h->loop)->changed_ns, hd_os_now_ns(),
                              memory_order_relaxed);
    }
    hd_turn_answer(h, &answer);
    h->written_age_ns /= news ? 2 : 1; /* what was written has no stack */
}

/* A freeze that does not end: its loop may never wait again to be certain. A loop with evidence is believed.
 */
static void show_freeze(const struct hd_run *r, struct hd_turn *h) {
    const struct hd_watch *w = hd_watch_at(&r->watches, h->loop);
    bool known =
        w->generation == h->generation && atomic_load_explicit(&w->loop.has_evidence, memory_order_relaxed);
    if (known && !h->published && h->seen_age_ns >= FREEZE_NS) {
        h->published = true;
        h->written_age_ns = h->seen_age_ns / 2; /* it is due */
    }
}

/* When nothing more is known: what ended meanwhile is written once. */
static void update_reports(struct hd_worker *k) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        struct hd_turn *h = &k->turn[i];
        if (!h->used || !h->opened) {
            continue;
        }
        show_freeze(k->run, h);
        if (h->seen_age_ns < 2 * h->written_age_ns) {
            continue;
        }
        h->duration_ns = h->seen_age_ns;
        h->process_cpu_ns = hd_os_process_cpu_ns();
        const struct hd_probe *e = &h->last.evidence;
        if (h->seen_same && h->deadlock_count == 0 && (e->lock_owner_tid != 0 || e->joined_tid != 0)) {
            look_at_threads(k, h); /* the ring may have closed since */
        }
        hd_publish(k, h, false);
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

static void on_open(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg) {
    h->state = msg->state;
    h->activity = hd_activity_is_idle(msg->activity) ? h->activity : msg->activity;
    h->threshold_ns = msg->threshold_ns;
    h->duration_ns = msg->duration_ns;
    h->process_cpu_ns = msg->process_cpu_ns;
    h->excluded_ns = msg->excluded_ns;
    bool launch = h->state == HANGDOG_STATE_LAUNCH;
    if (h->last.valid && !launch && !h->not_a_hang && is_served(k, h, &h->last)) { /* by one that was busy */
        excuse(k->run, h, msg->turn);
    }
    if (h->not_a_hang) { /* which the monitor did not know yet */
        return;
    }
    hd_turn_open(h, k->run->record->options.started_wall_ns);
    hd_host_read_process(k);
    look_at_threads(k, h);
    hd_publish(k, h, false);
}

/* The program ended before its thread had a loop: what was taken for a launch is how it lives, while the
 * loops are other threads'. */
static bool ends_without_loop(const struct hd_run *r, const struct hd_turn *h) {
    const struct hd_loop *loop = &hd_watch_at(&r->watches, h->loop)->loop;
    return r->settings.deferred && !h->published && h->state == HANGDOG_STATE_LAUNCH &&
           atomic_load_explicit(&r->channel.stopping, memory_order_relaxed) &&
           atomic_load_explicit(&loop->launched, memory_order_relaxed) == 0 &&
           !atomic_load_explicit(&loop->has_evidence, memory_order_relaxed);
}

/* A program that worked for so long before it had a loop was not launching. */
static bool known_too_late(const struct hd_run *r, const struct hd_turn *h) {
    uint64_t limit_ns = r->settings.launch_known_ns;
    return limit_ns != 0 && h->state == HANGDOG_STATE_LAUNCH && hd_os_now_ns() - h->start_ns > limit_ns;
}

/* A time of the loop's on the monitor's clock. 0: it is none, or we were held up between the two clocks. */
static uint64_t clock_of(const struct hd_loop *loop, uint64_t ticks) {
    uint64_t before_ns = hd_os_now_ns(), now = hd_loop_ticks(loop), now_ns = hd_os_now_ns();
    uint64_t rate = atomic_load_explicit(&loop->ns_per_tick_32, memory_order_relaxed);
    return ticks != 0 && now_ns - before_ns < HD_NS_PER_MS ? now_ns - hd_ticks_to_ns(now - ticks, rate) : 0;
}

/* What was found out about the loop while the message of the turn's end was on its way (we were at a disk, or
 * the program ends): the turn was over when a wait began that is the loop's after all, a launch when the
 * first one did. Where a hang may have followed that wait, or a stop is to be taken off, it stays as it was
 * told. */
static uint64_t end_of(const struct hd_run *r, const struct hd_turn *h, const struct hd_message *msg) {
    const struct hd_watch *w = hd_watch_at(&r->watches, h->loop);
    const struct hd_loop *loop = &w->loop;
    if (w->generation != h->generation) { /* the slot is another loop's by now */
        return msg->at_ns;
    }
    uint64_t launched =
        h->state == HANGDOG_STATE_LAUNCH ? atomic_load_explicit(&loop->launched, memory_order_acquire) : 0;
    uint64_t to_ns = clock_of(loop, atomic_load_explicit(&loop->waited_to, memory_order_acquire));
    uint64_t from_ns = clock_of(loop, atomic_load_explicit(&loop->waited_from, memory_order_relaxed));
    bool nothing_followed = to_ns < msg->at_ns && msg->at_ns - to_ns < h->threshold_ns;
    if (launched != 0) {
        from_ns = clock_of(loop, launched);
    } else if (!nothing_followed || msg->excluded_ns != 0) {
        return msg->at_ns;
    }
    return from_ns > h->start_ns && from_ns < msg->at_ns ? from_ns : msg->at_ns;
}

static void on_end(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg) {
    uint64_t end_ns = end_of(k->run, h, msg), early_ns = msg->at_ns - end_ns;
    hd_turn_settle(h, end_ns, msg->excluded_ns, msg->sched_known ? &msg->sched : NULL);
    h->duration_ns = msg->duration_ns > early_ns ? msg->duration_ns - early_ns : 0;
    h->process_cpu_ns = early_ns == 0 ? msg->process_cpu_ns : 0;
    h->excluded_ns = msg->excluded_ns;
    bool none = h->not_a_hang || h->duration_ns < h->threshold_ns;
    if (h->opened && (none || ends_without_loop(k->run, h) || known_too_late(k->run, h))) {
        hd_publish_withdraw(k, h);
    } else if (h->opened) {
        hd_publish(k, h, true);
    }
    hd_turn_free(h);
}

static void on_dry(struct hd_worker *k, const struct hd_capture *c) {
    struct hd_walk walk;
    struct hd_probe evidence;
    unwind_sample(k, c, &walk);
    hd_probe_read(&k->probe, k->own_tid, c, k->frames, walk.count, hd_os_now_ns(), &evidence);
}

static void on_track(struct hd_worker *k, const struct hd_message *msg) {
    bool sole = !k->profile.on;
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        sole = sole && !k->turn[i].used;
    }
    look_after_modules(k, !sole);
    hd_scripts_begin(&k->scripts, sole);
    hd_turn_begin(k, msg);
}

static void take_verdict(void *worker, const struct hd_loop_verdict *verdict) {
    struct hd_worker *k = worker;
    if (verdict->word == HD_LOOP_CERTAIN) {
        hd_deferred_publish(k, verdict->loop, verdict->generation);
    } else {
        hd_deferred_void(k, verdict->loop, verdict->generation);
    }
}

static void recognise(struct hd_worker *k) {
    const struct hd_recogniser *r = &k->run->settings.recogniser;
    if (!is_left_behind(k->run)) {
        r->judge(r->ctx, &(struct hd_stack_tools){
                             .unwinder = k->unwinder,
                             .modules = &k->modules,
                             .frames = k->frames,
                             .frames_max = HD_FRAMES_MAX,
                             .proc_fd = k->probe.proc_fd,
                             .ending = atomic_load_explicit(&k->run->channel.stopping, memory_order_relaxed),
                             .send = take_verdict,
                             .worker = k});
    }
}

/* What waited since the last time, or was blocked, may speak against the loop whose reports are held: one
 * that is not beyond doubt is due each second, and so a second on it is. */
static void recognise_last(struct hd_worker *k) {
    const struct hd_recogniser *r = &k->run->settings.recogniser;
    if (r->due != NULL && r->due(r->ctx, hd_os_now_ns() + HD_NS_PER_S)) {
        recognise(k);
    }
}

/* False: the last message was there. */
static bool handle(struct hd_worker *k, const struct hd_message *msg) {
    const struct hd_capture *capture = (const struct hd_capture *)(const void *)(msg + 1);
    struct hd_turn *h = hd_turn_find(k, msg);
    if (h != NULL) {
        h->cost = msg->cost;
        h->cpu_ns = msg->cpu_ns;
        h->late_max_ns = msg->late_max_ns;
        h->degraded |= msg->degraded;
    }
    switch ((enum hd_message_type)msg->type) {
    case HD_MSG_STOP:
        recognise_last(k);
        return false;
    case HD_MSG_DRY:
        on_dry(k, capture);
        break;
    case HD_MSG_SURE:
        hd_deferred_publish(k, msg->loop, msg->generation);
        break;
    case HD_MSG_TRACK:
        on_track(k, msg);
        break;
    case HD_MSG_SAMPLE:
        if (h != NULL) {
            on_sample(k, h, msg, capture);
        }
        break;
    case HD_MSG_LATE:
        if (h != NULL) {
            on_late(k, h, capture);
        }
        break;
    case HD_MSG_OPEN:
        if (h != NULL && !h->opened) {
            on_open(k, h, msg);
        }
        break;
    case HD_MSG_END:
        if (h != NULL) {
            on_end(k, h, msg);
        }
        break;
    case HD_MSG_WAITS:
        recognise(k);
        break;
    case HD_MSG_FORGET:
        if (h != NULL) {
            if (h->opened) {
                hd_publish_withdraw(k, h);
            }
            hd_turn_free(h);
        }
        break;
    default: /* HD_MSG_CPU_* */
        hd_cpu_profile_handle(k, msg, capture);
    }
    return true;
}

void *hd_worker_run(void *worker) {
    struct hd_worker *k = worker;
    hd_os.set_thread_name("hangdog-worker");
    k->own_tid = hd_os.get_tid();
    hd_capture_files_open();
    hd_worker_init(k);
    hd_run_is_ready(k->run);
    for (bool on = true; on;) {
        uint32_t seen = atomic_load_explicit(&k->run->channel.worker_wake, memory_order_seq_cst);
        uint32_t bytes;
        const struct hd_message *msg;
        while (on && (msg = hd_ring_peek(&k->run->channel.ring, &bytes)) != NULL) {
            on = handle(k, msg);
            hd_ring_release(&k->run->channel.ring);
        }
        if (on) {
            hd_crash_report(k);
            update_reports(k);
        }
        atomic_store_explicit(&k->run->channel.worker_cpu_ns, hd_os_thread_cpu_ns(), memory_order_relaxed);
        if (on) {
            hd_os.futex_wait((uint32_t *)&k->run->channel.worker_wake, seen, UINT64_MAX, false);
        }
    }
    hd_publish_session(k);
    hd_spool_close(&k->spool);
    atomic_store_explicit(&k->run->channel.worker_done, 1, memory_order_release);
    hd_os.futex_wake((uint32_t *)&k->run->channel.worker_done, INT32_MAX, false);
    return NULL;
}
