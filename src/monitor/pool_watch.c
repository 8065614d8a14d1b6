/* SPDX-License-Identifier: MIT */
#include "monitor/pool_watch.h"

#include "monitor/send.h"

/* Each look after a turn comes by another delay. Work often begins in a turn and ends soon after it. Looks
 * with equal delays would see the threads at work each time, and would learn no idle wait. */
#define DELAYS 4u
#define DELAY_STEP_NS (25 * HD_NS_PER_MS)

/* Returns a value that changes whenever a loop starts or ends a wait. Sets *newest to the time of the newest
 * mark, in ticks. */
static uint64_t read_marks(const struct hd_monitor *m, uint64_t *newest, const struct hd_watch **loop) {
    uint64_t sum = 0;
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        uint64_t word = atomic_load_explicit(&w->loop.word, memory_order_acquire);
        if (word >> HD_ACTIVITY_BITS > *newest || *loop == NULL) {
            *newest = word >> HD_ACTIVITY_BITS;
            *loop = w;
        }
        sum += word * (2 * i + 1);
    }
    return sum;
}

uint64_t hd_pool_watch_next(const struct hd_monitor *m) {
    const struct hd_channel_pools *pools = &m->run->channel.pools;
    uint64_t again_ns = atomic_load_explicit(&pools->again_ns, memory_order_relaxed);
    uint64_t next_ns = again_ns != 0 ? m->pools.sent_ns + again_ns : HD_NEVER;
    if (m->pools.moved) {
        uint64_t due_ns = m->pools.sent_ns + atomic_load_explicit(&pools->after_ns, memory_order_relaxed);
        uint64_t later_ns = m->pools.moved_ns + m->pools.looks % DELAYS * DELAY_STEP_NS;
        due_ns = due_ns > later_ns ? due_ns : later_ns;
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return m->run->settings.pools ? next_ns : HD_NEVER;
}

void hd_pool_watch_step(struct hd_monitor *m) {
    const struct hd_watch *loop = NULL;
    uint64_t newest = 0;
    if (!m->run->settings.pools || m->pause.lasts) {
        return;
    }
    uint64_t marks = read_marks(m, &newest, &loop);
    uint64_t now_ns = hd_os_now_ns();
    if (loop != NULL && marks != m->pools.marks && !m->pools.moved) {
        m->pools.moved = true;
        m->pools.moved_ns = now_ns;
    }
    m->pools.marks = marks;
    if (loop == NULL || now_ns < hd_pool_watch_next(m)) {
        return;
    }
    m->pools.moved = false;
    m->pools.sent_ns = now_ns;
    m->pools.looks++;
    hd_monitor_send(m, &(struct hd_message){.type = HD_MSG_POOLS,
                                            .loop = loop->index,
                                            .generation = loop->generation,
                                            .at_ns = hd_monitor_ticks_to_ns(m, newest),
                                            .start_ticks = marks});
}
