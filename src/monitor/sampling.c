/* SPDX-License-Identifier: MIT
 *
 * What a look at a loop asks for: samples are taken, and the worker is told. The ring may be full, for as
 * long as a disk does not answer. Samples are lost then, and turns that begin are not told; but whose begin
 * was told, its end is too: there is room for that (HD_RING_RESERVE). Monitor: no allocation, never waits for
 * anybody.
 */
#include "monitor/sampling.h"

#include <string.h>

#include "monitor/look.h"

#define OVER_NS (50 * HD_NS_PER_MS) /* a turn's end that is older: what the process ran since is not its */
#define CUT_BYTES_MIN 2048u         /* of a stack: less is of no use */
#define WAKE_FOR_SAME_NS (5 * HD_NS_PER_S) /* a proven stack is no news: the worker is not woken for each */

/* Of each turn that is followed the opening and the end, the stop, and padding where the ring comes round. */
#define RECORD_BYTES (HD_RING_HEAD_BYTES + sizeof(struct hd_message) + 15)
_Static_assert((2 * HD_FOLLOWED_MAX + 2) * RECORD_BYTES <= HD_RING_RESERVE,
               "nothing that must be told is lost");

/* The largest sample fits wherever the last one ended: it may have to be preceded by almost as much padding.
 */
_Static_assert(2 * (HD_STACK_BYTES_MAX + sizeof(struct hd_message) + sizeof(struct hd_capture) + 32) +
                       HD_RING_RESERVE <=
                   HD_RING_BYTES,
               "every sample fits into an empty ring");

static void wake_worker(struct hd_monitor *m) {
    m->woken_ns = m->run->clock.ns;
    atomic_fetch_add_explicit(&m->run->channel.worker_wake, 1, memory_order_seq_cst);
    hd_os.futex_wake((uint32_t *)&m->run->channel.worker_wake, 1, false);
}

/* The worker reads nothing that the monitor writes but what it is told. */
static void add_figures(const struct hd_monitor *m, struct hd_message *message) {
    message->cost = hd_watch_at(&m->run->watches, message->loop)->look.target.cost;
    message->cpu_ns = hd_os_thread_cpu_ns();
    message->late_max_ns = hd_watch_at(&m->run->watches, message->loop)->look.late_max_ns;
    message->degraded = m->budget.over;
}

bool hd_monitor_send(struct hd_monitor *m, const struct hd_message *message) {
    bool comes_again =
        message->type == HD_MSG_TRACK || message->type == HD_MSG_WAITS || message->type == HD_MSG_SURE;
    struct hd_message *room =
        hd_ring_reserve(&m->run->channel.ring, sizeof *room, comes_again ? HD_RING_RESERVE : 0);
    if (room != NULL) {
        *room = *message;
        add_figures(m, room);
        hd_ring_commit(&m->run->channel.ring, sizeof *room);
    }
    wake_worker(m);
    return room != NULL;
}

static uint32_t sample_bytes(bool borrowed, uint32_t stack_bytes) {
    return (uint32_t)(sizeof(struct hd_message) + sizeof(struct hd_capture)) + (borrowed ? 0 : stack_bytes);
}

/* While the worker is behind, a turn's samples leave half of the room that the first of them found, so that
 * the hangs after it have some too. */
static uint32_t room_to_leave(struct hd_monitor *m, struct hd_watch *w, bool first) {
    if (first) {
        uint32_t free = hd_ring_free(&m->run->channel.ring);
        w->look.sampled_turn = w->look.turn.turn;
        w->look.keep = HD_RING_RESERVE + (free > HD_RING_RESERVE ? (free - HD_RING_RESERVE) / 2 : 0);
    }
    return hd_ring_read_up_to(&m->run->channel.ring, m->woken_until) ? HD_RING_RESERVE : w->look.keep;
}

/* The first sample of a turn is cut until it fits: the inner frames tell which function is in the way. */
static struct hd_message *room_for(struct hd_monitor *m, struct hd_capture *taken, uint32_t keep,
                                   bool first) {
    for (;;) {
        struct hd_message *room =
            hd_ring_reserve(&m->run->channel.ring, sample_bytes(taken->borrowed, taken->stack_bytes), keep);
        if (room != NULL || !first || taken->borrowed || taken->stack_bytes < 2 * CUT_BYTES_MIN) {
            return room;
        }
        taken->stack_bytes /= 2;
    }
}

/* The head of a message, and a capture with its stack where that is not lent. */
static void send_capture(struct hd_monitor *m, struct hd_watch *w, enum hd_message_type type,
                         const struct hd_capture *taken, struct hd_message *head) {
    struct hd_capture *capture = (struct hd_capture *)(void *)(head + 1);
    *capture = *taken;
    if (!taken->borrowed && taken->stack_bytes != 0) {
        capture->stack = memcpy(capture + 1, taken->stack, taken->stack_bytes);
    }
    *head = (struct hd_message){.type = (uint8_t)type,
                                .loop = w->index,
                                .generation = w->generation,
                                .at_ns = taken->at_ns,
                                .turn = w->look.turn.turn,
                                .excluded_ns = w->look.turn.excluded_ns};
    add_figures(m, head);
    w->look.blocked = taken->way == HD_WAY_FROZEN;
    w->look.sched = taken->sched;
    w->look.sched_valid = hd_sched_known(&taken->sched);
    hd_ring_commit(&m->run->channel.ring, sample_bytes(taken->borrowed, taken->stack_bytes));
    uint64_t until = atomic_load_explicit(&m->run->channel.ring.head, memory_order_relaxed);
    m->borrowed_until = taken->borrowed ? until : m->borrowed_until;
    if (!taken->same || m->run->clock.ns - m->woken_ns >= WAKE_FOR_SAME_NS ||
        atomic_load_explicit(&w->wants_equal, memory_order_relaxed)) {
        m->woken_until = until;
        wake_worker(m);
    }
}

/* What a sample without an answer was about, once the thread is back from there. Copied if there is room: the
 * next sample follows at once, and where the buffer is lent nobody answers that one later. */
static void send_late(struct hd_monitor *m, struct hd_watch *w) {
    struct hd_capture taken;
    if (hd_capture_late(&w->look.target, &taken) == 0) {
        taken.borrowed =
            hd_ring_free(&m->run->channel.ring) < w->look.keep + 2 * sample_bytes(false, taken.stack_bytes);
        uint32_t bytes = sample_bytes(taken.borrowed, taken.stack_bytes);
        struct hd_message *head = hd_ring_reserve(&m->run->channel.ring, bytes, HD_RING_RESERVE);
        if (head != NULL) {
            send_capture(m, w, HD_MSG_LATE, &taken, head);
        }
    }
}

/* One capture and, unless the worker is to read it where it is, its stack. Where there is no room for it the
 * worker is behind, and its time goes to the one before. What it will need is known before, but for a stack
 * that has grown: nobody is interrupted for a sample that is lost. */
void hd_sampling_take(struct hd_monitor *m, struct hd_watch *w, enum hd_message_type type) {
    bool first = w->look.sampled_turn != w->look.turn.turn;
    bool lend =
        hd_ring_read_up_to(&m->run->channel.ring, m->borrowed_until) && hd_capture_may_lend(&w->look.target);
    uint32_t keep = room_to_leave(m, w, first);
    uint32_t needed = sample_bytes(lend || w->look.blocked, first ? 2 * CUT_BYTES_MIN : w->look.stack_bytes);
    struct hd_capture taken;
    if (hd_ring_reserve(&m->run->channel.ring, needed, keep) == NULL) {
        wake_worker(m);
        return;
    }
    if (hd_capture_take(&w->look.target, lend, &taken) != 0) {
        return;
    }
    w->look.stack_bytes =
        taken.stack_bytes != 0 ? taken.stack_bytes : w->look.stack_bytes; /* before it is cut */
    struct hd_message *head = room_for(m, &taken, keep, first);
    if (head == NULL) {
        w->look.target.last_valid = false; /* nobody saw what the next one may be the same as */
        wake_worker(m);
        return;
    }
    send_capture(m, w, type, &taken, head);
}

/* The worker need not know any more what becomes of this turn. */
static void stop_following(struct hd_monitor *m, struct hd_watch *w, const struct hd_message *last) {
    hd_monitor_send(m, last);
    hd_capture_late_forget(&w->look.target);
    w->look.followed = false;
    m->followed--;
}

/* A thread whose loop is not known is launching for as long as it lives: it is followed while nobody else
 * needs the place. */
static bool only_launches(const struct hd_monitor *m, const struct hd_watch *w) {
    return m->run->settings.deferred && !w->look.launched &&
           !atomic_load_explicit(&w->loop.sure, memory_order_relaxed);
}

/* Who is followed no more when a turn comes for which there is no place: a thread without a loop, the main
 * one last; for a hang also a turn that is none yet. */
static struct hd_watch *who_goes(const struct hd_monitor *m, const struct hd_watch *comes) {
    struct hd_watch *goes = NULL;
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n && !only_launches(m, comes); i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        bool young = comes->look.turn.state == HD_TURN_HANGING && w->look.turn.state == HD_TURN_TRACKED;
        if (w != comes && w->look.followed &&
            (only_launches(m, w) || (young && (goes == NULL || !only_launches(m, goes))))) {
            goes = w;
        }
    }
    return goes;
}

static bool have_place(struct hd_monitor *m, const struct hd_watch *comes) {
    struct hd_watch *goes = m->followed < HD_FOLLOWED_MAX ? NULL : who_goes(m, comes);
    if (goes != NULL && hd_ring_free(&m->run->channel.ring) > 2 * HD_RING_RESERVE) {
        stop_following(
            m, goes,
            &(struct hd_message){.type = HD_MSG_FORGET, .loop = goes->index, .generation = goes->generation});
    }
    return m->followed < HD_FOLLOWED_MAX;
}

/* The worker follows the turn from here on, if there is a place, and room for what will be told of it. */
static void send_turn(struct hd_monitor *m, struct hd_watch *w, struct hd_message message) {
    message.type = HD_MSG_TRACK;
    message.thread = w->look.target.thread;
    message.at_ns = w->look.turn.turn_ns;
    message.sched = w->look.begun;
    message.begun_ns = w->look.begun_ns;
    message.sched_known = w->look.begun_valid;
    w->look.followed = have_place(m, w) && hd_monitor_send(m, &message);
    m->followed += w->look.followed;
    w->look.target.last_valid =
        false; /* its first sample is not to be proven by one that the worker has not got */
}

void hd_sampling_act(struct hd_monitor *m, struct hd_watch *w, const struct hd_look *look, unsigned actions) {
    struct hd_message message = {.loop = w->index,
                                 .generation = w->generation,
                                 .state = (uint8_t)w->look.state,
                                 .threshold_ns = w->look.turn.threshold_ns,
                                 .turn = w->look.turn.turn,
                                 .excluded_ns = w->look.turn.excluded_ns,
                                 .activity = (uint8_t)hd_loop_activity(
                                     &w->loop, atomic_load_explicit(&w->loop.word, memory_order_relaxed))};
    if (!w->look.followed || (actions & ~(unsigned)HD_ACT_SAMPLE) != 0) {
        message.duration_ns = hd_turn_state_age(&w->look.turn, look->now_ns);
        message.process_cpu_ns = hd_os_process_cpu_ns();
    }
    if (!w->look.followed && (actions & (HD_ACT_TRACK | HD_ACT_SAMPLE | HD_ACT_OPEN)) != 0) {
        send_turn(m, w, message);
        actions |= w->look.followed && w->look.turn.state == HD_TURN_HANGING ? HD_ACT_OPEN : 0;
    }
    if (w->look.followed) {
        send_late(m, w);
    }
    if ((actions & HD_ACT_SAMPLE) != 0 && w->look.followed) {
        hd_sampling_take(m, w, HD_MSG_SAMPLE);
    }
    if ((actions & HD_ACT_OPEN) != 0 && w->look.followed) {
        message.type = HD_MSG_OPEN;
        if (w->look.turn.state == HD_TURN_IDLE) {
            message.activity = HANGDOG_EXIT; /* it is over, and the word is perhaps the next turn's */
        }
        message.at_ns = look->now_ns;
        hd_monitor_send(m, &message);
    }
    if ((actions & (HD_ACT_END | HD_ACT_FORGET | HD_ACT_FRAME)) != 0) {
        message.type = (actions & HD_ACT_END) != 0     ? HD_MSG_END
                       : (actions & HD_ACT_FRAME) != 0 ? HD_MSG_FRAME
                                                       : HD_MSG_FORGET;
        message.at_ns = w->look.turn.end_ns;
        message.duration_ns = w->look.turn.duration_ns;
        uint64_t over_ns = look->now_ns > w->look.turn.end_ns ? look->now_ns - w->look.turn.end_ns : 0;
        bool just = over_ns < OVER_NS || over_ns < w->look.turn.duration_ns / 10;
        message.process_cpu_ns = just ? message.process_cpu_ns : 0;
        message.sched = w->look.sched;
        message.sched_known = w->look.sched_valid;
        if (w->look.tracked_turn != 0) {
            hd_untrack(w);
        }
        if (w->look.followed) {
            stop_following(m, w, &message);
        } else if ((actions & HD_ACT_END) != 0 &&
                   !(m->run->settings.deferred &&
                     w->look.state == HANGDOG_STATE_LAUNCH)) { /* else perhaps it was none */
            hd_record_add_unreported(m->run->record, message.duration_ns);
        }
    }
}
