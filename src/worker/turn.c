/* SPDX-License-Identifier: MIT
 *
 * Worker: a tracked turn, what its samples add up to. No allocation.
 */
#include "worker/turn.h"

#include <string.h>

#include "cause/linux/pressure.h"
#include "cause/linux/throttled.h"
#include "os/linux/proc_stat.h"
#include "record/uuid.h"
#include "worker/worker.h"

struct hd_turn *hd_turn_find(struct hd_worker *k, const struct hd_message *msg) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        if (k->turn[i].used && k->turn[i].loop == msg->loop && k->turn[i].generation == msg->generation) {
            return &k->turn[i];
        }
    }
    return NULL;
}

void hd_turn_open(struct hd_turn *h, uint64_t from_wall_ns) {
    h->opened = true;
    hd_uuid_make_at(h->id, h->start_wall_ns > from_wall_ns ? h->start_wall_ns : from_wall_ns);
}

void hd_turn_free(struct hd_turn *h) {
    hd_tree_free(&h->tree);
    h->used = false;
}

static const char *scheme_of(const struct hd_watch *w) {
    bool frames = atomic_load_explicit(&w->loop.frames.presented, memory_order_relaxed) != 0;
    bool ping = atomic_load_explicit(&w->ping, memory_order_relaxed) != NULL;
    return hd_words_scheme(ping ? HD_SCHEME_PING : frames ? HD_SCHEME_FRAME : HD_SCHEME_ACTIVITY);
}

struct hd_turn *hd_turn_begin(struct hd_worker *k, const struct hd_message *msg) {
    struct hd_turn *h = hd_turn_find(k, msg);
    for (unsigned i = 0; h == NULL && i < HD_TURNS_MAX; i++) {
        h = !k->turn[i].used ? &k->turn[i] : NULL;
    }
    if (h == NULL) {
        return NULL;
    }
    if (h->used) {
        hd_turn_free(h);
    }
    memset(h, 0, sizeof *h);
    hd_tree_init(&h->tree, &k->pool);
    const struct hd_watch *w = hd_watch_at(&k->run->watches, msg->loop);
    if (w->generation == msg->generation) { /* else the slot is another loop's by now */
        for (size_t i = 0; i < sizeof h->loop_name; i++) {
            h->loop_name[i] = __atomic_load_n(&w->name[i], __ATOMIC_RELAXED);
        }
        uint64_t since_ns = atomic_load_explicit(&w->since_ns, memory_order_relaxed);
        h->scheme = scheme_of(w);
        h->unseen_ns = since_ns > msg->at_ns ? since_ns - msg->at_ns : 0;
        h->tree.time_ns = h->unseen_ns;
        hd_cause_add(
            &h->sums,
            &(struct hd_probe){.for_ns = h->unseen_ns, .state = HD_RUN_GONE, .syscall_nr = HD_SYSCALL_NONE});
    }
    h->thread = msg->thread;
    uint64_t now_ns = hd_os_now_ns();
    h->used = true;
    h->loop = msg->loop;
    h->generation = msg->generation;
    h->state = msg->state;
    h->activity = msg->activity;
    h->start_ns = msg->at_ns;
    h->start_wall_ns = hd_os_wall_ns() - (now_ns > msg->at_ns ? now_ns - msg->at_ns : 0);
    h->background_before_ns = hd_background_until(&k->run->channel.background, msg->at_ns);
    h->threshold_ns = msg->threshold_ns;
    h->begun = msg->sched;
    h->begun_known = msg->sched_known;
    h->begun_ns = msg->begun_ns;
    h->cost_before = msg->cost;
    h->cpu_before_ns = msg->cpu_ns;
    h->throttled_before_ns = hd_throttled_ns(&k->probe);
    hd_pressure_read(&k->probe, h->stall_before_ns);
    h->faults_before = hd_proc_stat_major_faults(k->probe.proc_fd, hd_thread_id_tid(h->thread));
    h->worker_cpu_before_ns = hd_os_thread_cpu_ns();
    h->tracked_age_ns = msg->duration_ns;
    h->process_cpu_before_ns = msg->process_cpu_ns;
    return h;
}

static bool found_running(uint8_t state) {
    return state == HD_RUN_RUNNING || state == HD_RUN_RUNNABLE;
}

static bool found_blocked(uint8_t state) {
    return state == HD_RUN_BLOCKED || state == HD_RUN_UNINTERRUPTIBLE;
}

/* Time that it was blocked between two samples goes to what a sample near found it blocked on. Where none
 * did, it is of the whole, and no kind's: on what it waited nobody saw. */
static void charge_between(struct hd_turn *h) {
    if (h->between_ns > 0 && h->blocked.for_ns > 0) {
        struct hd_probe e = h->blocked;
        e.for_ns = h->between_ns;
        e.cpu_ns = e.delay_ns = 0;
        h->sums.total_ns -= h->between_ns;
        hd_cause_add(&h->sums, &e);
        h->between_ns = 0;
    }
}

/* Evidence `e` stands for `ns`, in the last `covered_ns` of which the figures went from `from` to `to` (NULL:
 * not known), and after which the thread was found in `state`. A sample that finds a thread running says
 * nothing of the time in which, as the figures tell, it neither ran nor waited for a processor: it was
 * blocked, and ran again by the next look. Before the figures it is taken to have run as much as after. One
 * that waits for a processor has a delay that they do not tell yet. */
static void weigh(struct hd_turn *h, struct hd_probe *e, uint64_t ns, uint64_t covered_ns,
                  const struct hd_sched *from, const struct hd_sched *to, uint8_t state) {
    bool known = from != NULL && to != NULL && hd_sched_known(from) && hd_sched_known(to);
    e->for_ns = ns;
    e->cpu_ns = known && to->cpu_ns > from->cpu_ns ? to->cpu_ns - from->cpu_ns : 0;
    e->delay_ns = known && to->delay_ns > from->delay_ns ? to->delay_ns - from->delay_ns : 0;
    bool left = known && (to->slices != from->slices || found_blocked(state)); /* slices count its returns */
    if (found_running(e->state) && left && state != HD_RUN_RUNNABLE) {
        uint64_t known_ns = e->cpu_ns + e->delay_ns;
        if (known_ns < covered_ns) {
            e->for_ns = (uint64_t)((double)known_ns / (double)covered_ns * (double)ns);
            h->between_ns += ns - e->for_ns;
            h->sums.total_ns += ns - e->for_ns;
        }
    }
    hd_cause_add(&h->sums, e);
}

/* A stop that came while the newest sample was taken, and is known only now: the one before has its time. */
static void take_back(struct hd_turn *h, uint64_t ns) {
    if (h->timeline_count > 1) {
        struct hd_timeline_entry *e = &h->timeline[(h->timeline_count - 2) % HD_TIMELINE];
        ns = ns < e->for_ns ? ns : e->for_ns;
        hd_tree_discharge(&h->tree, e->leaf, ns);
        e->for_ns -= ns;
        hd_cause_limit(&h->sums, h->sums.total_ns > ns ? h->sums.total_ns - ns : 0);
    }
}

/* A thread is found running or waiting for a CPU at one instant; how it shared its time between the two, the
 * figures tell. The timeline shows as many samples of each as agree with them, as the cause does. */
static void show_starved(struct hd_turn *h, struct hd_timeline_entry *e) {
    if (found_running(e->state)) {
        const struct hd_probe *known = &h->last.evidence;
        h->starved_ns += (int64_t)known->delay_ns;
        if (known->cpu_ns + known->delay_ns > 0) {
            e->state = 2 * h->starved_ns > (int64_t)e->for_ns ? HD_RUN_RUNNABLE : HD_RUN_RUNNING;
        }
        h->starved_ns -= e->state == HD_RUN_RUNNABLE ? (int64_t)e->for_ns : 0;
    }
}

/* The newest sample's time is known now: until `until_ns`, when the thread was found in `state`. */
static void settle(struct hd_turn *h, uint64_t until_ns, uint64_t excluded_ns, const struct hd_sched *sched,
                   uint8_t state) {
    struct hd_last_sample *last = &h->last;
    if (!last->valid || until_ns <= last->at_ns) {
        return;
    }
    uint64_t ns = until_ns - last->at_ns;
    uint64_t stopped_ns = excluded_ns > h->excluded_known_ns ? excluded_ns - h->excluded_known_ns : 0;
    h->excluded_known_ns = excluded_ns;
    if (stopped_ns > ns) {
        take_back(h, stopped_ns - ns);
    }
    ns = stopped_ns < ns ? ns - stopped_ns : 0;
    hd_tree_charge(&h->tree, last->leaf, ns);
    weigh(h, &last->evidence, ns, ns, &last->sched, sched, state);
    if (h->timeline_count > 0) {
        struct hd_timeline_entry *e = &h->timeline[(h->timeline_count - 1) % HD_TIMELINE];
        e->for_ns = ns;
        show_starved(h, e);
    }
}

/* Time from the turn's start to its first sample: of the stack, what that saw is the best guess there is; of
 * the processor, the figures tell. What the turn took before it was watched is no function's. */
static void settle_start(struct hd_turn *h, uint64_t excluded_ns) {
    uint64_t from_ns = h->start_ns + h->unseen_ns;
    if (h->last.at_ns > from_ns) {
        uint64_t ns = h->last.at_ns - from_ns;
        ns = excluded_ns < ns ? ns - excluded_ns : 0;
        hd_tree_charge(&h->tree, h->last.leaf, ns);
        h->before_ns = ns;
        struct hd_probe e = h->last.evidence;
        uint64_t uncovered_ns = h->begun_ns > from_ns ? h->begun_ns - from_ns : 0;
        weigh(h, &e, ns, ns > uncovered_ns ? ns - uncovered_ns : 0, h->begun_known ? &h->begun : NULL,
              &h->last.sched, h->last.state);
    }
}

static void note(struct hd_turn *h) {
    h->timeline[h->timeline_count++ % HD_TIMELINE] =
        (struct hd_timeline_entry){.at_ns = h->last.at_ns,
                                   .leaf = h->last.leaf,
                                   .syscall_nr = h->last.evidence.syscall_nr,
                                   .state = h->last.state,
                                   .way = h->last.way,
                                   .stop = h->last.stop,
                                   .cut = h->last.cut < UINT16_MAX ? (uint16_t)h->last.cut : UINT16_MAX};
    h->taken++;
}

void hd_turn_add(struct hd_turn *h, const struct hd_last_sample *sample, uint64_t excluded_ns) {
    bool first = !h->last.valid;
    settle(h, sample->at_ns, excluded_ns, &sample->sched, sample->state);
    h->last = *sample;
    note(h);
    if (first) {
        settle_start(h, excluded_ns);
        h->excluded_known_ns = excluded_ns;
    }
    if (found_blocked(sample->state)) {
        h->blocked = sample->evidence;
        h->blocked.for_ns = 1;
        charge_between(h);
    }
}

bool hd_turn_differs(struct hd_turn *h, const struct hd_last_sample *sample) {
    if (sample->way == HD_WAY_KERNEL) {
        return false;
    }
    bool differs = !h->known || h->known_leaf != sample->leaf;
    h->known = true;
    h->known_leaf = sample->leaf;
    return differs;
}

void hd_turn_answer(struct hd_turn *h, const struct hd_last_sample *answer) {
    uint32_t first = h->timeline_count > HD_TIMELINE ? h->timeline_count - HD_TIMELINE : 0;
    for (uint32_t i = first; i < h->timeline_count; i++) {
        struct hd_timeline_entry *e = &h->timeline[i % HD_TIMELINE];
        if (e->at_ns < answer->at_ns || e->way != HD_WAY_KERNEL) {
            continue;
        }
        uint64_t ns = e->for_ns + (i == 0 ? h->before_ns : 0);
        hd_tree_take_back(&h->tree, HD_TREE_NONE, ns);
        hd_tree_again(&h->tree, answer->leaf, e->at_ns);
        hd_tree_charge(&h->tree, answer->leaf, ns);
        e->leaf = answer->leaf;
        e->way = answer->way;
        e->stop = answer->stop;
        e->cut = answer->cut < UINT16_MAX ? (uint16_t)answer->cut : UINT16_MAX;
        if (i + 1 == h->timeline_count) {
            h->last.leaf = answer->leaf;
            h->last.way = answer->way;
            h->last.stop = answer->stop;
            h->last.cut = answer->cut;
            h->last.depth = answer->depth;
        }
    }
    hd_tree_take_back(&h->tree, answer->leaf, 0); /* it is no sample of its own */
}

/* The turn had ended, as is known only now, before its newest samples: what they saw is none of it. What is
 * left of a ring that had come round is put in order. */
static void cut(struct hd_turn *h, uint64_t end_ns, uint64_t excluded_ns) {
    struct hd_timeline_entry left[HD_TIMELINE];
    uint32_t have = h->timeline_count < HD_TIMELINE ? h->timeline_count : HD_TIMELINE;
    uint32_t first = h->timeline_count - have;
    for (uint32_t i = 0; i < have; i++) {
        left[i] = h->timeline[(first + i) % HD_TIMELINE];
    }
    for (; have > 0 && left[have - 1].at_ns >= end_ns; have--, h->taken--) {
        hd_tree_take_back(&h->tree, left[have - 1].leaf, left[have - 1].for_ns);
    }
    if (have > 0 && left[have - 1].at_ns + left[have - 1].for_ns > end_ns) {
        uint64_t ns = end_ns - left[have - 1].at_ns;
        hd_tree_discharge(&h->tree, left[have - 1].leaf, left[have - 1].for_ns - ns);
        left[have - 1].for_ns = ns;
    }
    memcpy(h->timeline, left, have * sizeof left[0]);
    h->timeline_count = have;
    uint64_t took_ns = end_ns > h->start_ns ? end_ns - h->start_ns : 0;
    hd_cause_limit(&h->sums, took_ns > excluded_ns ? took_ns - excluded_ns : 0);
}

void hd_turn_settle(struct hd_turn *h, uint64_t at_ns, uint64_t excluded_ns, const struct hd_sched *sched) {
    if (h->last.valid && at_ns < h->last.at_ns) {
        charge_between(h);
        cut(h, at_ns, excluded_ns);
        return;
    }
    settle(h, at_ns, excluded_ns, sched, HD_RUN_RUNNING);
    charge_between(h);
}

void hd_turn_limit(struct hd_turn *h) {
    uint64_t end_ns = h->start_ns + h->excluded_ns + h->duration_ns;
    uint64_t scale_32 = hd_tree_limit(&h->tree, h->duration_ns);
    for (uint32_t i = 0; i < h->timeline_count && i < HD_TIMELINE; i++) {
        struct hd_timeline_entry *e = &h->timeline[i];
        e->at_ns = e->at_ns < end_ns ? e->at_ns : end_ns;
        e->for_ns = hd_ticks_to_ns(e->for_ns, scale_32);
        e->for_ns = e->for_ns < end_ns - e->at_ns ? e->for_ns : end_ns - e->at_ns;
    }
}
