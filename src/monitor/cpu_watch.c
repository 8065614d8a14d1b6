/* SPDX-License-Identifier: MIT
 *
 * Samples the thread that used most CPU time. If the thread is watched, the monitor samples it as in a
 * turn, so the thread may get our signal. If the thread is not watched, it gets no signal: the worker reads
 * its stack in place while the thread is blocked. No allocation.
 */
#include "monitor/cpu_watch.h"

#include "monitor/sampling.h"
#include "monitor/send.h"

#define NO_TURN UINT32_MAX /* a generation that no slot has: messages about CPU use are about no turn */

static void send(struct hd_monitor *m, enum hd_message_type type) {
    hd_monitor_send(m, &(struct hd_message){.type = (uint8_t)type,
                                            .generation = NO_TURN,
                                            .at_ns = m->looked_ns,
                                            .duration_ns = m->run->settings.cpu_period_ns});
}

/* Takes a sample of the thread that used most CPU time. If the worker follows a turn of that thread, takes
 * none, because the turn's samples are enough. A sample that is taken here must not count for a turn, so the
 * monitor forgets it at once. */
static void sample(struct hd_monitor *m) {
    hd_thread_id thread = atomic_load_explicit(&m->run->channel.cpu_thread, memory_order_acquire);
    if (hd_thread_id_is_none(thread)) {
        return;
    }
    struct hd_watch *w = hd_watch_of_thread(&m->run->watches, thread);
    if (w == NULL) {
        send(m, HD_MSG_CPU_READ);
        return;
    }
    struct hd_look_state *s = hd_monitor_look_state(m, w);
    if (!s->followed) {
        hd_sampling_take(m, s, HD_MSG_CPU_SAMPLE);
        hd_capture_late_forget(&s->target);
        hd_target_forget_last(&s->target);
        s->ring.start_ticks = 0;
    }
}

void hd_cpu_watch_step(struct hd_monitor *m) {
    const struct hd_settings *s = &m->run->settings;
    if (s->cpu_period_ns == 0 || m->looked_ns < m->cpu.next_ns) {
        return;
    }
    if (m->pause.lasts) {
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
        sample(m); /* takes one more sample, at the end of the period of CPU measurement */
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
    return m->run->settings.cpu_period_ns != 0 ? m->cpu.next_ns : HD_NEVER;
}
