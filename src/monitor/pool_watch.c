/* SPDX-License-Identifier: MIT */
#include "monitor/pool_watch.h"

#include "monitor/send.h"

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
    uint64_t wait_ns = again_ns != 0 ? again_ns : HD_NEVER;
    if (m->pools.moved) {
        uint64_t after_ns = atomic_load_explicit(&pools->after_ns, memory_order_relaxed);
        wait_ns = after_ns < wait_ns ? after_ns : wait_ns;
    }
    return m->run->settings.pools && wait_ns != HD_NEVER ? m->pools.sent_ns + wait_ns : HD_NEVER;
}

void hd_pool_watch_step(struct hd_monitor *m) {
    const struct hd_watch *loop = NULL;
    uint64_t newest = 0;
    if (!m->run->settings.pools || m->pause.lasts) {
        return;
    }
    uint64_t marks = read_marks(m, &newest, &loop);
    m->pools.moved |= loop != NULL && marks != m->pools.marks;
    m->pools.marks = marks;
    uint64_t now_ns = hd_os_now_ns();
    if (loop == NULL || now_ns < hd_pool_watch_next(m)) {
        return;
    }
    m->pools.moved = false;
    m->pools.sent_ns = now_ns;
    hd_monitor_send(m, &(struct hd_message){.type = HD_MSG_POOLS,
                                            .loop = loop->index,
                                            .generation = loop->generation,
                                            .at_ns = hd_monitor_ticks_to_ns(m, newest),
                                            .start_ticks = marks});
}
