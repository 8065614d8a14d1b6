/* SPDX-License-Identifier: MIT
 *
 * Worker: turns that were over before anybody knew that they were. Until its loop is known all that a program
 * does is its launch; the samples of that are kept, and given to the turns that it turns out to have had. No
 * allocation.
 */
#include "monitor/hang.h"

#include <string.h>

/* The stack of a node, innermost first. */
static uint32_t stack_of(struct hd_worker *k, uint32_t leaf) {
    uint32_t count = 0, callee = HD_TREE_NONE;
    for (; leaf != HD_TREE_NONE && count < HD_TREE_DEPTH_MAX; leaf = k->pool.node[leaf].parent) {
        k->frames[count++] = hd_tree_frame(&k->pool, leaf, callee);
        callee = leaf;
    }
    return count;
}

/* A launch's sample as its timeline has it, which goes back as far, and knows what was folded and what was
 * answered late. Returns its leaf. */
static uint32_t look_up(const struct hd_hang *launch, struct hd_last_sample *sample) {
    for (uint32_t i = 0; i < HD_TIMELINE; i++) {
        const struct hd_timeline_entry *e = &launch->timeline[i];
        if (e->at_ns == sample->at_ns) {
            sample->way = e->way;
            sample->stop = e->stop;
            sample->cut = e->cut;
            return e->leaf;
        }
    }
    return HD_TREE_NONE;
}

/* The samples of the launch between begin and end, again, as those of hang h. False: they show that it is
 * none.
 */
static bool move_samples(struct hd_worker *k, const struct hd_hang *launch, struct hd_hang *h,
                         uint64_t end_ns) {
    const struct hd_past_samples *past = k->monitor->settings.recogniser.past;
    const struct hd_past_sample *before = NULL;
    uint64_t excluded_ns = 0; /* up to the turn's begin */
    uint32_t i = launch->past_from;
    for (i += past->count - i > HD_PAST_SAMPLES ? past->count - i - HD_PAST_SAMPLES : 0; i != past->count;
         i++) {
        const struct hd_past_sample *p = &past->at[i % HD_PAST_SAMPLES];
        struct hd_last_sample sample = p->sample;
        if (p->loop != launch->loop || sample.at_ns < h->start_ns) {
            before = p->loop == launch->loop ? p : before;
            continue;
        }
        if (h->taken == 0) {
            excluded_ns = before != NULL ? before->excluded_ns : 0;
            h->begun_known = before != NULL;
            h->begun = before != NULL ? before->sample.sched : h->begun;
            h->begun_ns = before != NULL ? before->sample.at_ns : 0;
        }
        h->excluded_ns = p->excluded_ns - excluded_ns;
        if (sample.at_ns >= end_ns) {
            hd_hang_settle(h, end_ns, h->excluded_ns, h->taken > 0 ? &sample.sched : NULL);
            return h->taken > 0;
        }
        if (sample.evidence.excused) {
            return false;
        }
        sample.evidence.child_alive &= sample.evidence.child_ns >= h->start_ns;
        uint32_t count = stack_of(k, look_up(launch, &sample));
        sample.leaf = hd_hang_add_stack(k, h, count, sample.at_ns);
        hd_hang_add(h, &sample, h->excluded_ns);
    }
    hd_hang_settle(h, end_ns, h->excluded_ns, NULL);
    return h->taken > 0;
}

void hd_worker_turn_was(struct hd_worker *k, uint8_t loop, uint64_t begin_ns, uint64_t end_ns) {
    struct hd_monitor *m = k->monitor;
    struct hd_hang *launch = NULL;
    for (unsigned i = 0; i < HD_HANGS_MAX; i++) {
        struct hd_hang *h = &k->hang[i];
        launch = h->used && h->state == HANGDOG_STATE_LAUNCH && h->loop == loop ? h : launch;
    }
    struct hd_message message = {.loop = loop,
                                 .state = HANGDOG_STATE_FOREGROUND,
                                 .activity = HANGDOG_AFTER_WAITING,
                                 .generation = UINT32_MAX, /* not the launch, which goes on */
                                 .tid = launch != NULL ? launch->tid : 0,
                                 .at_ns = begin_ns,
                                 .threshold_ns =
                                     hd_threshold_of(m, hd_watch_at(m, loop), HANGDOG_STATE_FOREGROUND)};
    if (launch == NULL || m->settings.recogniser.past == NULL || end_ns - begin_ns < message.threshold_ns) {
        return;
    }
    struct hd_hang *h = hd_hang_begin(k, &message);
    if (h == NULL) {
        hd_record_add_untold(m->record, end_ns - begin_ns);
        return;
    }
    h->generation = launch->generation;
    memcpy(h->loop_name, launch->loop_name, sizeof h->loop_name);
    hd_hang_open(h);
    h->cost = launch->cost; /* of its captures, and those of the launch before it */
    h->cost_before = launch->cost_before;
    h->cpu_ns = launch->cpu_ns;
    h->cpu_before_ns = launch->cpu_before_ns;
    h->worker_cpu_before_ns = launch->worker_cpu_before_ns;
    h->late_max_ns = launch->late_max_ns;
    bool whole = move_samples(k, launch, h, end_ns);
    uint64_t took_ns = end_ns - begin_ns;
    h->duration_ns = took_ns > h->excluded_ns ? took_ns - h->excluded_ns : 0;
    if (whole && h->duration_ns >= h->threshold_ns) {
        hd_process_figures(k);
        hd_publish(m, k, h, true);
    }
    hd_hang_free(h);
}
