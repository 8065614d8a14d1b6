/* SPDX-License-Identifier: MIT
 *
 * Worker: a turn that passed its threshold: its reports, until it has ended. No allocation.
 */
#include "worker/hang.h"

#include "publish/publish.h"
#include "turn/samples.h"
#include "worker/blocked.h"
#include "worker/facts.h"
#include "worker/other_threads.h"

#define FREEZE_NS (5 * HD_NS_PER_S) /* so long a hang is reported before its loop is certain */

void hd_hang_ignore(const struct hd_run *r, struct hd_turn *h, uint64_t turn) {
    atomic_store_explicit(&hd_watch_at(&r->watches, h->loop.slot)->loop.found.ignored_turn, turn,
                          memory_order_relaxed);
    h->not_a_hang = true;
}

static void look_at_threads(struct hd_worker *k, struct hd_turn *h) {
    const struct hd_probe *e = &h->samples.newest.probe;
    int owner = !h->samples.newest.valid ? 0 : hd_evidence_awaited_tid(e);
    hd_threads_capture(k, h->loop.thread, hd_thread_id_of(owner));
    h->threads.count = k->others.count + k->others.left_out;
    hd_threads_find_deadlock(k, h);
}

static void publish(struct hd_worker *k, struct hd_turn *h, bool complete) {
    struct hd_facts facts;
    hd_facts_take(&k->others, &k->process, &facts);
    hd_facts_read_counters(&k->probe, h, &facts);
    hd_publish(&k->publisher, h, &facts, complete);
}

void hd_hang_open(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg) {
    h->state = msg->state;
    h->activity = hd_activity_is_idle(msg->activity) ? h->activity : msg->activity;
    h->times.threshold_ns = msg->threshold_ns;
    /* the sample of the same look was taken after the look began */
    h->times.duration_ns = h->samples.age_ns > msg->duration_ns ? h->samples.age_ns : msg->duration_ns;
    h->times.process_cpu_ns = msg->process_cpu_ns;
    h->times.excluded_ns = msg->excluded_ns;
    bool launch = h->state == HANGDOG_STATE_LAUNCH;
    if (h->samples.newest.valid && !launch && !h->not_a_hang &&
        hd_blocked_is_served(k, h, &h->samples.newest)) { /* by one that was busy */
        hd_hang_ignore(k->run, h, msg->start_ticks);
    }
    if (h->not_a_hang) { /* which the monitor did not know yet */
        return;
    }
    hd_publish_open(&k->publisher, h);
    hd_host_read_process(k->probe.proc_fd, &k->process);
    look_at_threads(k, h);
    publish(k, h, false);
}

/* ---- while it lasts -------------------------------------------------------------------------- */

/* A freeze that does not end: its loop may never wait again to be certain. A loop with evidence is believed.
 */
static void show_freeze(const struct hd_run *r, struct hd_turn *h) {
    const struct hd_watch *w = hd_watch_at(&r->watches, h->loop.slot);
    bool known = w->generation == h->loop.generation &&
                 atomic_load_explicit(&w->loop.found.has_evidence, memory_order_relaxed);
    if (known && !h->report.published && h->samples.age_ns >= FREEZE_NS) {
        h->report.published = true;
        h->report.written_age_ns = h->samples.age_ns / 2; /* it is due */
    }
}

void hd_hang_update_all(struct hd_worker *k) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        struct hd_turn *h = &k->turns.turn[i];
        if (!h->used || !h->report.opened) {
            continue;
        }
        show_freeze(k->run, h);
        if (h->samples.age_ns < 2 * h->report.written_age_ns) {
            continue;
        }
        h->times.duration_ns = h->samples.age_ns;
        h->times.process_cpu_ns = hd_os_process_cpu_ns();
        const struct hd_probe *e = &h->samples.newest.probe;
        if (h->samples.same && h->threads.deadlock_count == 0 && hd_evidence_awaited_tid(e) != 0) {
            look_at_threads(k, h); /* the ring may have closed since */
        }
        publish(k, h, false);
    }
}

/* ---- its end --------------------------------------------------------------------------------- */

/* The program ended before its thread had a loop: what was taken for a launch is how it lives, while the
 * loops are other threads'. */
static bool ends_without_loop(const struct hd_run *r, const struct hd_turn *h) {
    const struct hd_loop *loop = &hd_watch_at(&r->watches, h->loop.slot)->loop;
    return r->settings.deferred && !h->report.published && h->state == HANGDOG_STATE_LAUNCH &&
           atomic_load_explicit(&r->channel.stop.requested, memory_order_relaxed) &&
           atomic_load_explicit(&loop->found.launched, memory_order_relaxed) == 0 &&
           !atomic_load_explicit(&loop->found.has_evidence, memory_order_relaxed);
}

/* A program that worked for so long before it had a loop was not launching. */
static bool known_too_late(const struct hd_run *r, const struct hd_turn *h) {
    uint64_t limit_ns = r->settings.launch_known_ns;
    return limit_ns != 0 && h->state == HANGDOG_STATE_LAUNCH && hd_os_now_ns() - h->times.start_ns > limit_ns;
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
    const struct hd_watch *w = hd_watch_at(&r->watches, h->loop.slot);
    const struct hd_loop *loop = &w->loop;
    if (w->generation != h->loop.generation) { /* the slot is another loop's by now */
        return msg->at_ns;
    }
    uint64_t launched = h->state == HANGDOG_STATE_LAUNCH
                            ? atomic_load_explicit(&loop->found.launched, memory_order_acquire)
                            : 0;
    uint64_t to_ns = clock_of(loop, atomic_load_explicit(&loop->found.waited_to, memory_order_acquire));
    uint64_t from_ns = clock_of(loop, atomic_load_explicit(&loop->found.waited_from, memory_order_relaxed));
    bool nothing_followed = to_ns < msg->at_ns && msg->at_ns - to_ns < h->times.threshold_ns;
    if (launched != 0) {
        from_ns = clock_of(loop, launched);
    } else if (!nothing_followed || msg->excluded_ns != 0) {
        return msg->at_ns;
    }
    return from_ns > h->times.start_ns && from_ns < msg->at_ns ? from_ns : msg->at_ns;
}

void hd_hang_end(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg) {
    uint64_t end_ns = end_of(k->run, h, msg), early_ns = msg->at_ns - end_ns;
    hd_samples_settle(h, end_ns, msg->excluded_ns, msg->thread_sched.known ? &msg->thread_sched.sched : NULL);
    h->times.duration_ns = msg->duration_ns > early_ns ? msg->duration_ns - early_ns : 0;
    h->times.process_cpu_ns = early_ns == 0 ? msg->process_cpu_ns : 0;
    h->times.excluded_ns = msg->excluded_ns;
    bool none = h->not_a_hang || h->times.duration_ns < h->times.threshold_ns;
    if (h->report.opened && (none || ends_without_loop(k->run, h) || known_too_late(k->run, h))) {
        hd_publish_withdraw(&k->publisher, h);
    } else if (h->report.opened) {
        publish(k, h, true);
    }
    hd_turn_free(h);
}

/* The report of a loop that is not certain is not deferred: there is none. */
void hd_hang_frame(struct hd_worker *k, struct hd_turn *h, const struct hd_message *msg) {
    bool certain = hd_publish_is_certain(k->run, h);
    hd_samples_settle(h, msg->at_ns, msg->excluded_ns,
                      msg->thread_sched.known ? &msg->thread_sched.sched : NULL);
    h->times.duration_ns = msg->duration_ns;
    h->times.process_cpu_ns = msg->process_cpu_ns;
    h->times.excluded_ns = msg->excluded_ns;
    h->times.threshold_ns = k->run->settings.frame_drop_ns;
    if (!h->not_a_hang && (certain || !k->run->settings.deferred)) {
        hd_publish_open(&k->publisher, h);
        hd_host_read_process(k->probe.proc_fd, &k->process);
        struct hd_facts facts;
        hd_facts_take(&k->others, &k->process, &facts);
        hd_facts_read_counters(&k->probe, h, &facts);
        hd_publish_frame(&k->publisher, h, &facts);
    }
    hd_turn_free(h);
}
