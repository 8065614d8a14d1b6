/* SPDX-License-Identifier: MIT */
#include "worker/pool_report.h"

#include <string.h>

#include "capture/capture.h"
#include "publish/publish.h"
#include "turn/samples.h"
#include "worker/facts.h"
#include "worker/pool_kind.h"

static bool is_of_stall(const struct hd_pools *p, const struct hd_pool_thread *t) {
    return t->pool == p->stalled + 1;
}

static uint64_t growth(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

/* Adds the thread's stack, and what it waits for, with the time since it started that. */
static void add_thread(struct hd_worker *worker, struct hd_pool_thread *t, uint64_t now_ns) {
    struct hd_turn *turn = &worker->pools.turn;
    struct hd_turn_samples *s = &turn->samples;
    const uint64_t from_ns = t->since_ns > turn->times.start_ns ? t->since_ns : turn->times.start_ns;
    struct hd_capture c = {.state = HD_RUN_RUNNING, .syscall_nr = HD_SYSCALL_NONE};
    struct hd_walk walk = {.stop = HD_STOP_NO_ANSWER};
    struct hd_probe probe = {.state = HD_RUN_RUNNING, .syscall_nr = HD_SYSCALL_NONE};
    uint32_t count = hd_pool_kind_capture(worker, t->thread, &c, &walk);
    t->leaf = HD_TREE_NONE;
    if (count != 0) {
        t->leaf = hd_turns_add_stack(&worker->turns, turn, worker->stacks.frames, count, now_ns);
        hd_probe_read(&worker->probe, t->thread, &c, worker->stacks.frames, count, from_ns, &probe);
        s->newest.way = c.way;
        s->newest.stop = walk.stop;
        s->newest.cut = walk.cut;
    }
    if (hd_sched_known(&t->began) && hd_sched_known(&t->sched)) {
        probe.cpu_ns = growth(t->began.cpu_ns, t->sched.cpu_ns);
        probe.delay_ns = growth(t->began.delay_ns, t->sched.delay_ns);
    }
    probe.for_ns = growth(from_ns, now_ns);
    hd_cause_add(&s->sums, &probe);
    hd_tree_charge(&s->tree, t->leaf, probe.for_ns);
    s->taken++;
}

/* Adds the time since the last report to the stacks, and to the threads of the capture. */
static void charge_all(struct hd_worker *worker, uint64_t now_ns) {
    struct hd_pools *p = &worker->pools;
    struct hd_threads *threads = &worker->threads;
    uint64_t ns = growth(p->charged_ns, now_ns);
    for (uint32_t i = 0; i < p->threads; i++) {
        if (is_of_stall(p, &p->thread[i])) {
            hd_tree_charge(&p->turn.samples.tree, p->thread[i].leaf, ns);
        }
    }
    for (uint32_t i = 0; i < threads->count && p->captures == threads->captures; i++) {
        threads->thread[i].for_ns += threads->thread[i].pool ? ns : 0;
    }
    p->charged_ns = now_ns;
}

/* Captures all threads of the process, those of the pool with the time for which each has been busy. */
static void capture_threads(struct hd_worker *worker, uint64_t now_ns) {
    struct hd_pools *p = &worker->pools;
    struct hd_threads *threads = &worker->threads;
    hd_thread_id first = HD_THREAD_ID_NONE;
    for (uint32_t i = 0; i < p->threads && hd_thread_id_is_none(first); i++) {
        first = is_of_stall(p, &p->thread[i]) ? p->thread[i].thread : first;
    }
    hd_host_read_process(worker->probe.proc_fd, &worker->process);
    hd_threads_capture(threads, p->turn.loop.thread, first);
    p->turn.threads.count = threads->count + threads->left_out;
    p->captures = threads->captures;
    for (uint32_t i = 0; i < threads->count; i++) {
        struct hd_thread_record *r = &threads->thread[i];
        for (uint32_t k = 0; k < p->threads; k++) {
            const struct hd_pool_thread *t = &p->thread[k];
            if (hd_thread_id_equal(t->thread, r->thread) && is_of_stall(p, t)) {
                r->pool = true;
                r->for_ns = growth(t->since_ns, now_ns);
                memcpy(p->name, p->name[0] == '\0' ? r->name : p->name, sizeof p->name);
            }
        }
    }
}

static void publish(struct hd_worker *worker, uint64_t until_ns, bool complete) {
    struct hd_pools *p = &worker->pools;
    struct hd_facts facts;
    charge_all(worker, until_ns);
    p->turn.times.duration_ns = growth(p->turn.times.start_ns, until_ns);
    hd_facts_take(&worker->threads, &worker->process, &facts);
    hd_facts_read_counters(&worker->probe, &p->turn, &facts);
    if (p->captures != worker->threads.captures) { /* a hang's capture has replaced the pool's */
        p->turn.threads.count = 0;
    }
    hd_publish(&worker->publisher, &p->turn, &facts, complete);
}

static void start_turn(struct hd_worker *worker, const struct hd_message *msg, uint64_t start_ns) {
    struct hd_turn *turn = &worker->pools.turn;
    const struct hd_watch *w = hd_watch_at(&worker->run->watches, msg->loop);
    struct hd_facts facts = {0};
    memset(turn, 0, sizeof *turn);
    hd_tree_init(&turn->samples.tree, &worker->turns.pool);
    turn->used = true;
    turn->pool = &worker->pools.seen;
    turn->state = HANGDOG_STATE_FOREGROUND;
    turn->activity = HANGDOG_BEFORE_WAITING;
    turn->loop.slot = msg->loop;
    turn->loop.generation = msg->generation;
    turn->loop.thread = hd_loop_thread(&w->loop);
    turn->loop.scheme = hd_words_scheme(HD_SCHEME_ACTIVITY);
    for (size_t i = 0; i < sizeof turn->loop.name; i++) {
        turn->loop.name[i] = __atomic_load_n(&w->name[i], __ATOMIC_RELAXED);
    }
    turn->times.start_ns = start_ns;
    turn->times.start_wall_ns = hd_os_wall_ns() - growth(start_ns, hd_os_now_ns());
    turn->times.threshold_ns = atomic_load_explicit(
        &worker->run->settings.threshold_ns[HANGDOG_STATE_FOREGROUND], memory_order_relaxed);
    hd_facts_read_counters(&worker->probe, turn, &facts);
    turn->before.throttled_ns = facts.throttled_ns;
    memcpy(turn->before.stall_ns, facts.stall_ns, sizeof turn->before.stall_ns);
    turn->before.worker_cpu_ns = facts.worker_cpu_ns;
    turn->before.major_faults = facts.major_faults;
}

void hd_pool_report_open(struct hd_worker *worker, uint8_t pool, const struct hd_message *msg,
                         uint64_t start_ns, int32_t queued) {
    struct hd_pools *p = &worker->pools;
    uint64_t now_ns = hd_os_now_ns();
    p->stalled = pool;
    p->name[0] = '\0';
    p->charged_ns = now_ns;
    start_turn(worker, msg, start_ns);
    p->seen = (struct hd_pool_seen){.queued = queued};
    for (uint32_t i = 0; i < p->threads; i++) {
        if (is_of_stall(p, &p->thread[i])) {
            add_thread(worker, &p->thread[i], now_ns);
            p->seen.threads++;
        }
    }
    capture_threads(worker, now_ns);
    p->seen.name = p->pool[pool].kind == HD_POOL_OWN ? p->name : hd_pool_kind_name(p->pool[pool].kind);
    hd_publish_open(&worker->publisher, &p->turn);
    publish(worker, hd_os_now_ns(), false);
}

void hd_pool_report_update(struct hd_worker *worker, uint64_t now_ns) {
    const struct hd_turn *turn = &worker->pools.turn;
    uint64_t age_ns = growth(turn->times.start_ns, now_ns);
    if (age_ns >= turn->report.written_age_ns + turn->report.written_age_ns / 9) {
        publish(worker, now_ns, false);
    }
}

void hd_pool_report_end(struct hd_worker *worker, uint64_t end_ns) {
    publish(worker, end_ns, true);
    hd_turn_free(&worker->pools.turn);
}
