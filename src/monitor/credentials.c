/* SPDX-License-Identifier: MIT */
#include "monitor/credentials.h"

#include <errno.h>

#include "watch/follow.h"

#define PARKED_NS (1 * HD_NS_PER_S)
/* A check may come this much before it is due, so that the check and a loop that runs each second share
 * one wake. */
#define EARLY_NS (100 * HD_NS_PER_MS)
#define RUNNING_NS (2 * HD_NS_PER_S)

static void end_threads(struct hd_monitor *m, bool filtered) {
    atomic_store(&m->run->channel.stop.requested, true);
    if (m->run->ports.exceeds != NULL) {
        m->run->ports.exceeds(filtered);
    }
    hd_run_wake(m->run); /* wakes the monitor if it is about to park, so that it stops at once */
}

static void confine(void *unused) {
    (void)unused;
    hd_capture_files_confine();
}

static bool worker_exceeds(const struct hd_monitor *m) {
    return (atomic_load(&m->run->channel.follow.answered[HD_RUN_WORKER]) & 1) != 0;
}

/* Thread-local: if Hangdog starts again, its new monitor is another thread, and must start with zeros. */
static __thread struct {
    uint64_t checked_ns; /* when the credentials were last compared */
    bool may_have_run;   /* true: the main thread may have run since the credentials were last compared */
} self;

void hd_monitor_credentials_check(struct hd_monitor *m, bool parks) {
    uint64_t now_ns = hd_os_now_ns();
    uint64_t ago_ns = now_ns - self.checked_ns;
    self.may_have_run = true;
    if (hd_follow_answer(m->run, HD_RUN_MONITOR, confine, NULL)) {
        self.checked_ns = now_ns;
        return;
    }
    if (ago_ns < (parks ? PARKED_NS - EARLY_NS : RUNNING_NS)) {
        return;
    }
    self.checked_ns = now_ns;
    self.may_have_run = !parks;
    int rc = hd_follow_main(false);
    if (rc == -EPERM || (rc >= 0 && worker_exceeds(m))) {
        end_threads(m, rc == -EPERM && hd_follow_is_filter());
    } else if (rc > 0) {
        /* asks the worker to compare its credentials too, because the main thread's have changed */
        (void)hd_follow_request(m->run);
    }
}

uint64_t hd_monitor_credentials_next(void) {
    return self.may_have_run ? self.checked_ns + PARKED_NS - EARLY_NS : HD_NEVER;
}
