/* SPDX-License-Identifier: MIT */
#include "monitor/lateness.h"

#include "capture/thread_clock.h"

/* when the lateness of looks adds up to this, the monitor reads its own scheduling statistics again */
#define UNREAD_NS (5 * HD_NS_PER_MS)
/* the least time between two reads of the monitor's own scheduling statistics while no loop runs */
#define OWN_READ_NS (1 * HD_NS_PER_S)
#define UNKNOWN (UINT64_MAX / 2) /* a sum of lateness that is not known */

void hd_lateness_open(struct hd_monitor *m) {
    hd_thread_clock_open_own(&m->late.own, m->run->settings.deferred);
    hd_lateness_is_unknown(m);
}

uint64_t hd_lateness_own_delay(struct hd_monitor *m) {
    struct hd_sched now;
    if (hd_thread_clock_sched(&m->late.own, &now) != 0) {
        return 0;
    }
    uint64_t delay_ns = now.delay_ns - m->late.sched.delay_ns;
    m->late.sched = now;
    return delay_ns;
}

void hd_lateness_is_unknown(struct hd_monitor *m) {
    m->late.unread_ns = UNKNOWN;
}

void hd_lateness_start_look(struct hd_monitor *m, uint64_t now_ns) {
    uint64_t planned_ns = m->late.planned_ns;
    uint64_t late_ns = planned_ns != 0 && now_ns > planned_ns ? now_ns - planned_ns : 0;
    uint64_t own_delay_ns = late_ns > HD_LATE_NS ? hd_lateness_own_delay(m) + m->late.overtime_ns : 0;
    m->now = (struct hd_this_look){.now_ns = now_ns,
                                   .late_ns = late_ns,
                                   .own_delay_ns = own_delay_ns,
                                   .napped_ns = hd_capture_napped_ns()};
    m->late.overtime_ns = 0;
    m->late.max_ns = late_ns > m->late.max_ns ? late_ns : m->late.max_ns;
}

uint64_t hd_lateness_end_look(struct hd_monitor *m, uint64_t next_ns) {
    uint64_t now_ns = m->now.now_ns;
    m->late.unread_ns = m->now.late_ns > HD_LATE_NS ? 0 : m->late.unread_ns + m->now.late_ns;
    if (next_ns != HD_NEVER && hd_os_now_ns() - now_ns > HD_LATE_NS) {
        /* stores for how long this look waited for threads' answers; otherwise the next look would take that
         * time for a stop of the process */
        m->late.overtime_ns = hd_capture_napped_ns() - m->now.napped_ns;
        return now_ns;
    }
    if (m->late.unread_ns > UNREAD_NS && (next_ns != HD_NEVER || now_ns - m->late.read_ns >= OWN_READ_NS)) {
        hd_lateness_own_delay(m);
        m->late.read_ns = now_ns;
        m->late.unread_ns = 0;
    }
    return next_ns;
}

void hd_lateness_read_thread(struct hd_look_state *s) {
    s->thread.sched_known = hd_thread_clock_sched(&s->target.files, &s->thread.sched) == 0;
    if (s->thread.sched_known) {
        hd_thread_clock_refresh(&s->target.files, &s->thread.sched);
    }
}

/* Returns how much of the time since the last look is unexplained, for a thread that the last look found in
 * the same turn. Two times explain a part of it: how long the thread ran or waited for a CPU, and how long
 * the monitor itself was delayed. Only the longer of the two counts as explained. */
static uint64_t unexplained(const struct hd_monitor *m, const struct hd_sched *before,
                            const struct hd_sched *now) {
    uint64_t ran_ns = (now->cpu_ns - before->cpu_ns) + (now->delay_ns - before->delay_ns);
    uint64_t window_ns = m->now.now_ns - m->looked_ns;
    uint64_t explained_ns = m->now.own_delay_ns > ran_ns ? m->now.own_delay_ns : ran_ns;
    if (window_ns <= explained_ns || window_ns - explained_ns <= HD_LATE_NS) {
        return 0;
    }
    if (ran_ns > HD_NS_PER_MS) {
        return window_ns - explained_ns; /* this result is exact, because the thread ran until the stop */
    }
    /* The thread was blocked, so its statistics do not show when the stop of the process began. It began
     * between the last look and the time for which this look was planned. The result assumes the middle of
     * these two times. */
    return m->now.late_ns - m->now.own_delay_ns + (window_ns - m->now.late_ns) / 2;
}

/* The result is the lateness that neither the monitor's own delay nor the running of the thread explains. How
 * long the thread ran is known only if the last look found the thread in this turn. For a turn that started
 * after that look, only the monitor's own delay explains lateness. */
uint64_t hd_lateness_excluded(struct hd_monitor *m, struct hd_look_state *s) {
    struct hd_sched before = s->thread.sched;
    bool known = s->thread.sched_known;
    bool in_turn = s->turn.phase != HD_TURN_IDLE;
    bool rests = known && s->thread.blocked && m->now.late_ns <= HD_LATE_NS &&
                 hd_thread_clock_rests(&s->target.files, &s->thread.sched);
    if (!rests) {
        hd_lateness_read_thread(s);
    }
    if (m->now.late_ns <= m->now.own_delay_ns + HD_LATE_NS || !s->thread.sched_known || (in_turn && !known)) {
        return 0;
    }
    return in_turn ? unexplained(m, &before, &s->thread.sched) : m->now.late_ns - m->now.own_delay_ns;
}
