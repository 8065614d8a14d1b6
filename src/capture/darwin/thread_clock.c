/* SPDX-License-Identifier: MIT
 *
 * Reads a thread's CPU time and state. The kernel brings the CPU time of a running thread up to date only
 * when the thread enters or leaves the kernel. So equal times prove rest only for a thread that waits. Darwin
 * counts neither the time that a thread waits for a CPU, nor how many times it got one.
 */
#include "capture/thread_clock.h"

#include <errno.h>

static bool waits(uint8_t state) {
    return state == HD_RUN_BLOCKED || state == HD_RUN_UNINTERRUPTIBLE;
}

/* Stores in `slices` a number that differs from all earlier ones if a waiting thread has run since. */
int hd_thread_clock_read(const struct hd_thread_files *f, struct hd_thread_clock *out) {
    enum hd_run_state state = HD_RUN_RUNNING;
    *out = (struct hd_thread_clock){.proves = HD_CLOCK_NOTHING};
    int rc = hd_thread_files_times(f, &out->sched.cpu_ns, &state);
    if (rc < 0) {
        return rc;
    }
    if (state == HD_RUN_GONE) {
        return -ESRCH;
    }
    out->state = (uint8_t)state;
    out->proves = waits(out->state) ? HD_CLOCK_REST : HD_CLOCK_NOTHING;
    out->sched.slices = waits(out->state) ? 2 + out->sched.cpu_ns : 1;
    return 0;
}

int hd_thread_clock_sched(const struct hd_thread_files *f, struct hd_sched *out) {
    struct hd_thread_clock clock;
    int rc = hd_thread_clock_read(f, &clock);
    *out = clock.sched;
    return rc;
}

bool hd_thread_clock_rests(const struct hd_thread_files *f, const struct hd_sched *since) {
    struct hd_thread_clock clock;
    return hd_thread_clock_read(f, &clock) == 0 && clock.proves == HD_CLOCK_REST &&
           hd_thread_clock_same(&clock.sched, since);
}

/* The statistics are as new as the kernel has them. */
void hd_thread_clock_refresh(const struct hd_thread_files *f, struct hd_sched *sched) {
    (void)f;
    (void)sched;
}

void hd_thread_clock_open_own(struct hd_thread_files *own, bool calls_tried) {
    (void)calls_tried;
    own->port = hd_mach.self();
}
