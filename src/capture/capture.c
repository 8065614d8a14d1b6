/* SPDX-License-Identifier: MIT
 *
 * Takes a sample: repeats the target's methods, then takes the last method. On the monitor thread, except
 * hd_capture_frozen: no allocation, no lock.
 */
#include "capture/capture.h"

#include <errno.h>
#include <string.h>

#include "capture/method.h"
#include "os/os.h"

/* how long a sample repeats the capture methods while the thread is neither blocked nor certainly running */
#define RETRY_NS (5 * HD_NS_PER_MS)
/* how long the monitor sleeps between two attempts of one sample */
#define BETWEEN_NS (500 * HD_NS_PER_US)
/* a thread that blocks more than once in this time blocks too briefly to be captured */
#define BRIEFEST_NS (20 * HD_NS_PER_US)

static int gone(struct hd_capture *out) {
    out->sched = (struct hd_sched){0};
    hd_method_reset(out);
    out->way = HD_WAY_KERNEL;
    out->state = HD_RUN_GONE;
    return -ESRCH;
}

static bool is_last_resort(const struct hd_capture_method *method) {
    return method[1].take == NULL;
}

/* Tries all methods but the last. Returns the result of the method that ended the attempt, or -EAGAIN if no
 * method ended it. */
static int try_methods(struct hd_target *t, struct hd_capture *out) {
    for (const struct hd_capture_method *method = t->methods; !is_last_resort(method); method++) {
        int rc = method->take(t, out);
        if (rc == 0 || rc == -ESRCH || rc == -EBUSY || rc == -ETIMEDOUT) {
            return rc;
        }
        hd_method_reset(out);
    }
    return -EAGAIN;
}

static int last_resort(struct hd_target *t, struct hd_capture *out) {
    const struct hd_capture_method *method = t->methods;
    while (!is_last_resort(method)) {
        method++;
    }
    return method->take(t, out);
}

static int attempt(struct hd_target *t, struct hd_capture *out) {
    return hd_method_begin_attempt(t, out) == -ESRCH ? -ESRCH : try_methods(t, out);
}

/* Stores in w->often whether the thread has blocked often since the previous sample. The value is false
 * also if the thread has blocked so often that each time was too brief for a capture. */
static void see_waits(struct hd_thread_waits *w, const struct hd_capture *now) {
    uint64_t passed_ns = now->at_ns - w->at_ns, switches = now->sched.slices - w->slices;
    bool known = w->slices != 0 && now->sched.slices > w->slices;
    w->at_ns = now->at_ns;
    w->slices = now->sched.slices;
    w->often = known && switches > passed_ns / BETWEEN_NS && switches < passed_ns / BRIEFEST_NS;
}

int hd_capture_take(struct hd_target *t, bool in_place, struct hd_capture *out) {
    uint64_t until_ns = hd_os_now_ns() + RETRY_NS;
    hd_signal_request_begin(&t->request, in_place, &t->files, t->mailbox);
    int rc = hd_method_begin_attempt(t, out);
    see_waits(&t->waits, out);
    rc = rc == -ESRCH ? rc : try_methods(t, out);
    struct hd_sched first = out->sched;

    while (rc == -EAGAIN && hd_os_now_ns() < until_ns && !t->request.back_off.on) {
        hd_capture_nap(BETWEEN_NS);
        rc = attempt(t, out);
    }
    if (rc == 0) {
        t->cost.samples++;
        return 0;
    }
    if (rc == -ESRCH) {
        return gone(out);
    }
    uint64_t found_ns = out->at_ns;
    struct hd_sched found = out->sched;
    /* Restore the statistics of the first attempt, which are some milliseconds old: hd_method_kernel checks
     * whether the thread has run since then. */
    out->sched = first;
    hd_method_reset(out);
    if (last_resort(t, out) == -ESRCH) {
        return gone(out);
    }
    /* The late answer will have the time of the request, so this sample gets that time too. */
    if (rc == -ETIMEDOUT) {
        out->at_ns = found_ns;
        out->sched = found;
    }
    return 0;
}

int hd_capture_late(struct hd_target *t, struct hd_capture *out) {
    memset(out, 0, sizeof *out);
    int rc = hd_method_signalled_late(t, out);
    if (rc == 0) {
        (void)hd_thread_clock_sched(&t->files, &out->sched);
        hd_thread_clock_refresh(&t->files, &out->sched);
        t->cost.samples++;
    }
    return rc;
}

void hd_capture_late_forget(struct hd_target *t) {
    hd_signal_request_forget(&t->request, t->mailbox);
}

bool hd_capture_may_be_in_place(const struct hd_target *t) {
    return hd_signal_request_may_be_in_place(&t->request);
}

bool hd_capture_has_moved(hd_thread_id thread, const struct hd_capture *c) {
    struct hd_thread_files files;
    struct hd_thread_clock now;
    if (!hd_capture_shows_wait(c) || !hd_sched_known(&c->sched)) {
        return false;
    }
    (void)hd_thread_files_open(&files, thread);
    /* statistics that prove only that the thread left a CPU may be of another kind than those of `c` */
    bool known = hd_thread_clock_read(&files, &now) == 0 && now.proves != HD_CLOCK_LEAVING;
    bool moved = known && !hd_thread_clock_same(&now.sched, &c->sched) && !hd_thread_files_is_at(&files, c);
    hd_thread_files_close(&files);
    return moved;
}

int hd_capture_frozen(struct hd_target *t, uint8_t *stack, struct hd_capture *out) {
    t->copy_to = stack;
    int rc = hd_method_read_in_place(t, out);
    t->copy_to = NULL;
    if (rc == 0) {
        t->cost.samples++;
        return 0;
    }
    if (rc == -ESRCH) {
        return gone(out);
    }
    out->way = HD_WAY_KERNEL;
    out->stack_bytes = 0;
    out->state = HD_RUN_RUNNING;
    return rc;
}
