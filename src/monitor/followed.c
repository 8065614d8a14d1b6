/* SPDX-License-Identifier: MIT */
#include "monitor/followed.h"

#include "monitor/send.h"

void hd_followed_end(struct hd_monitor *m, struct hd_look_state *s, const struct hd_message *last) {
    hd_monitor_send(m, last);
    hd_capture_late_forget(&s->target);
    s->followed = false;
    m->ring.followed--;
}

/* Returns whether the turn is the launch of a thread whose loop the recogniser has not found. Such a
 * thread counts as launching for as long as it lives. The worker follows the turn only until the worker
 * needs to follow another turn. */
static bool only_launches(const struct hd_monitor *m, const struct hd_look_state *s) {
    return m->run->settings.deferred && !s->launched &&
           !atomic_load_explicit(&s->watch->loop.found.certain, memory_order_relaxed);
}

/* Returns the turn that the worker shall stop following, so that it can follow `next`. NULL: there is none.
 * The first choice is a turn of a thread whose loop the recogniser has not found; of these turns, the main
 * thread's comes last. If `next` is a hang, the second choice is a turn below its threshold. */
static struct hd_look_state *turn_to_drop(struct hd_monitor *m, const struct hd_look_state *next) {
    struct hd_look_state *found = NULL;
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n && !only_launches(m, next); i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        if (atomic_load_explicit(&w->use, memory_order_acquire) < HD_WATCH_ON) {
            continue; /* skips the slot, because a thread that is claiming it may not have set w->index yet */
        }
        struct hd_look_state *s = hd_monitor_look_state(m, w);
        bool young = next->turn.phase == HD_TURN_HANGING && s->turn.phase == HD_TURN_TRACKED;
        if (s != next && s->followed &&
            (only_launches(m, s) || (young && (found == NULL || !only_launches(m, found))))) {
            found = s;
        }
    }
    return found;
}

static bool can_follow(struct hd_monitor *m, const struct hd_look_state *next) {
    struct hd_look_state *dropped = m->ring.followed < HD_FOLLOWED_MAX ? NULL : turn_to_drop(m, next);
    if (dropped != NULL && hd_ring_free(&m->run->channel.ring) > 2 * HD_RING_RESERVE) {
        hd_followed_end(m, dropped,
                        &(struct hd_message){.type = HD_MSG_FORGET,
                                             .loop = dropped->watch->index,
                                             .generation = dropped->watch->generation});
    }
    return m->ring.followed < HD_FOLLOWED_MAX;
}

void hd_followed_start(struct hd_monitor *m, struct hd_look_state *s, struct hd_message message) {
    message.type = HD_MSG_TRACK;
    message.thread = s->target.thread;
    message.at_ns = s->turn.start_ns;
    message.thread_sched = (struct hd_message_sched){
        .known = s->first.sched_known, .at_ns = s->first.at_ns, .sched = s->first.sched};
    s->followed = can_follow(m, s) && hd_monitor_send(m, &message);
    m->ring.followed += s->followed;
    /* forgets the last sample, which the worker may not have, so that the next sample does not refer to
     * its stack */
    hd_target_forget_last(&s->target);
}
