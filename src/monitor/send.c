/* SPDX-License-Identifier: MIT
 *
 * The ring may stay full for as long as a disk does not respond. In that time, samples are lost, and the
 * monitor sends no start of a turn. But if the monitor has sent a turn's start, it can always send the end:
 * HD_RING_RESERVE bytes stay free for that.
 */
#include "monitor/send.h"

#include "watch/futex.h"

/* HD_RING_RESERVE must be enough for HD_MSG_OPEN and the end of each followed turn, for HD_MSG_STOP, and
 * for padding at the ring's end. */
#define RECORD_BYTES (HD_RING_HEAD_BYTES + sizeof(struct hd_message) + 15)
_Static_assert((2 * HD_FOLLOWED_MAX + 2) * RECORD_BYTES <= HD_RING_RESERVE,
               "no message that must arrive is lost");

void hd_monitor_send_wake(struct hd_monitor *m) {
    m->ring.woken_ns = m->run->clock.ns;
    hd_futex_add_and_wake(&m->run->channel.worker_wake);
}

void hd_monitor_send_figures(struct hd_monitor *m, struct hd_message *message) {
    const struct hd_look_state *s = hd_monitor_look_state(m, hd_watch_at(&m->run->watches, message->loop));
    message->cost = (struct hd_message_cost){.captures = s->target.cost,
                                             .cpu_ns = hd_os_thread_cpu_ns(),
                                             .late_max_ns = s->first.late_max_ns,
                                             .degraded = m->budget.over};
}

bool hd_monitor_send(struct hd_monitor *m, const struct hd_message *message) {
    bool comes_again = message->type == HD_MSG_TRACK || message->type == HD_MSG_WAITS ||
                       message->type == HD_MSG_POOLS || message->type == HD_MSG_CERTAIN;
    struct hd_message *sent =
        hd_ring_reserve(&m->run->channel.ring, sizeof *sent, comes_again ? HD_RING_RESERVE : 0);
    if (sent != NULL) {
        *sent = *message;
        hd_monitor_send_figures(m, sent);
        hd_ring_commit(&m->run->channel.ring, sizeof *sent);
    }
    hd_monitor_send_wake(m);
    return sent != NULL;
}
