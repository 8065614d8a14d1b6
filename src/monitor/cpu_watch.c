/* SPDX-License-Identifier: MIT
 *
 * Monitor: no allocation. The thread that is sampled gets a signal only if it is watched; any other one the
 * worker reads in place.
 */
#include "monitor/cpu_watch.h"

#include "monitor/sampling.h"

#define NO_TURN UINT32_MAX /* as a generation: the message is about no turn */

static void send(struct hd_monitor *m, enum hd_message_type type) {
    hd_monitor_send(m, &(struct hd_message){.type = (uint8_t)type,
                                            .generation = NO_TURN,
                                            .at_ns = m->looked_ns,
                                            .duration_ns = m->run->settings.cpu_period_ns});
}

/* A turn that is followed has samples of its own, which serve for both. What the turn's samples are proven
 * by, and count, is as if this one had not been. */
static void sample(struct hd_monitor *m) {
    hd_thread_id thread = atomic_load_explicit(&m->run->channel.cpu_thread, memory_order_acquire);
    struct hd_watch *w = hd_thread_id_is_none(thread) ? NULL : hd_watch_of_thread(&m->run->watches, thread);
    if (!hd_thread_id_is_none(thread) && w == NULL) {
        send(m, HD_MSG_CPU_READ);
    } else if (w != NULL && !w->look.followed) {
        hd_sampling_take(m, w, HD_MSG_CPU_SAMPLE);
        hd_capture_late_forget(&w->look.target);
        w->look.target.last_valid = false;
        w->look.sampled_turn = 0;
    }
}

void hd_cpu_watch_step(struct hd_monitor *m) {
    const struct hd_settings *s = &m->run->settings;
    if (s->cpu_period_ns == 0 || m->looked_ns < m->cpu.next_ns) {
        return;
    }
    if (m->was_paused) {
        m->cpu.phase = HD_CPU_OFF;
    }
    uint64_t sample_ns = s->interval_ns * (m->budget.over ? HD_BUDGET_SPREAD : 1);
    switch (hd_cpu_use_step(&m->cpu, m->looked_ns, hd_os_process_cpu_ns(), s->cpu_period_ns, sample_ns)) {
    case HD_CPU_START:
        send(m, HD_MSG_CPU_START);
        break;
    case HD_CPU_SAMPLE:
        sample(m);
        break;
    case HD_CPU_REPORT:
        sample(m); /* the period's last time has a stack, too */
        send(m, HD_MSG_CPU_REPORT);
        break;
    case HD_CPU_DROP:
        send(m, HD_MSG_CPU_DROP);
        break;
    case HD_CPU_NOTHING:
        break;
    }
}

uint64_t hd_cpu_watch_next(const struct hd_monitor *m) {
    return m->run->settings.cpu_period_ns != 0 ? m->cpu.next_ns : UINT64_MAX;
}
