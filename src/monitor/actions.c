/* SPDX-License-Identifier: MIT */
#include "monitor/actions.h"

#include "monitor/followed.h"
#include "monitor/sampling.h"
#include "monitor/send.h"

/* The process's CPU time counts for a turn only if the monitor reads that CPU time at most this long after
 * the turn's end. After a long turn, the limit is a tenth of the turn's duration, if that is longer. */
#define OVER_NS (50 * HD_NS_PER_MS)

static void untrack(struct hd_look_state *s) {
    atomic_fetch_and_explicit(&s->watch->loop.flags, ~HD_FLAG_TRACKED, memory_order_seq_cst);
    s->tracked_ticks = 0;
}

bool hd_actions_track(struct hd_look_state *s, uint64_t start_ticks) {
    struct hd_loop *l = &s->watch->loop;
    struct hd_loop_view view;
    s->tracked_ticks = start_ticks;
    atomic_fetch_or_explicit(&l->flags, HD_FLAG_TRACKED, memory_order_seq_cst);
    hd_loop_view(l, &view);
    if (view.running && view.turn_ticks == start_ticks) {
        return true;
    }
    untrack(s);
    return false;
}

static struct hd_message message_about(const struct hd_look_state *s) {
    const struct hd_loop *l = &s->watch->loop;
    uint64_t word = atomic_load_explicit(&l->word, memory_order_relaxed);
    return (struct hd_message){.loop = s->watch->index,
                               .generation = s->watch->generation,
                               .state = (uint8_t)s->program_state,
                               .threshold_ns = s->turn.threshold_ns,
                               .start_ticks = s->turn.start_ticks,
                               .excluded_ns = s->turn.excluded_ns,
                               .activity = (uint8_t)hd_loop_activity(l, word)};
}

static void send_open(struct hd_monitor *m, struct hd_look_state *s, const struct hd_look *look,
                      struct hd_message *message) {
    message->type = HD_MSG_OPEN;
    if (s->turn.phase == HD_TURN_IDLE) {
        /* says HANGDOG_EXIT, because the turn is over, and the loop's newest mark may already have the next
         * turn's activity */
        message->activity = HANGDOG_EXIT;
    }
    message->at_ns = look->now_ns;
    hd_monitor_send(m, message);
}

/* If the worker follows the turn, sends the turn's end to the worker. Any other turn is only counted in the
 * record, and only if it certainly was a hang. */
static void send_end(struct hd_monitor *m, struct hd_look_state *s, const struct hd_look *look,
                     unsigned actions, struct hd_message *message) {
    message->type = (actions & HD_ACT_END) != 0     ? HD_MSG_END
                    : (actions & HD_ACT_FRAME) != 0 ? HD_MSG_FRAME
                                                    : HD_MSG_FORGET;
    message->at_ns = s->turn.end_ns;
    message->duration_ns = s->turn.duration_ns;
    uint64_t over_ns = look->now_ns > s->turn.end_ns ? look->now_ns - s->turn.end_ns : 0;
    bool just = over_ns < OVER_NS || over_ns < s->turn.duration_ns / 10;
    message->process_cpu_ns = just ? message->process_cpu_ns : 0;
    message->thread_sched =
        (struct hd_message_sched){.known = s->thread.sched_known, .sched = s->thread.sched};
    if (s->tracked_ticks != 0) {
        untrack(s);
    }
    bool may_be_none = m->run->settings.deferred && s->program_state == HANGDOG_STATE_LAUNCH;
    if (s->followed) {
        hd_followed_end(m, s, message);
    } else if ((actions & HD_ACT_END) != 0 && !may_be_none) {
        hd_record_add_unreported(m->run->record, message->duration_ns);
    }
}

void hd_actions_do(struct hd_monitor *m, struct hd_look_state *s, const struct hd_look *look,
                   unsigned actions) {
    struct hd_message message = message_about(s);
    if (!s->followed || (actions & ~(unsigned)HD_ACT_SAMPLE) != 0) {
        message.duration_ns = hd_turn_state_age(&s->turn, look->now_ns);
        message.process_cpu_ns = hd_os_process_cpu_ns();
    }
    if (!s->followed && (actions & (HD_ACT_TRACK | HD_ACT_SAMPLE | HD_ACT_OPEN)) != 0) {
        hd_followed_start(m, s, message);
        actions |= s->followed && s->turn.phase == HD_TURN_HANGING ? HD_ACT_OPEN : 0;
    }
    if (s->followed) {
        hd_sampling_send_late(m, s);
        if ((actions & HD_ACT_SAMPLE) != 0) {
            hd_sampling_take(m, s, HD_MSG_SAMPLE);
        }
        if ((actions & HD_ACT_OPEN) != 0) {
            send_open(m, s, look, &message);
        }
    }
    if ((actions & (HD_ACT_END | HD_ACT_FORGET | HD_ACT_FRAME)) != 0) {
        send_end(m, s, look, actions, &message);
    }
}
