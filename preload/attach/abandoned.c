/* SPDX-License-Identifier: MIT */
#include "preload/attach/abandoned.h"

#include "os/os.h"

/* the longest time for which hd_attach_wait_for_abandoned blocks its caller */
#define ABANDONED_NS (5 * HD_NS_PER_S)
#define ABANDONED_MAX (2 * HD_ATTACH_TABLES_MAX) /* for each wait table, one abandoned monitor and worker */

/* The thread ids of abandoned threads. A forked child still has the ids of the parent's threads here.
 * These threads do not exist in the child, so none counts as alive. */
static struct {
    int tid[ABANDONED_MAX];
    unsigned count;
} abandoned;

static bool is_there(int tid) {
    return hd_os.signal_thread(hd_os.get_pid(), tid, 0, 0) == 0;
}

void hd_attach_add_abandoned(int tid) {
    if (tid != 0 && abandoned.count < ABANDONED_MAX && is_there(tid)) {
        abandoned.tid[abandoned.count++] = tid;
    }
}

bool hd_attach_has_abandoned(void) {
    for (unsigned i = 0; i < abandoned.count; i++) {
        if (is_there(abandoned.tid[i])) {
            return true;
        }
    }
    return false;
}

/* A busy abandoned worker ends within ABANDONED_NS. A worker that a disk blocks may live longer, so this
 * function returns after ABANDONED_NS at the latest. */
void hd_attach_wait_for_abandoned(void) {
    uint64_t until_ns = hd_os_now_ns() + ABANDONED_NS;
    while (hd_attach_has_abandoned() && hd_os_now_ns() < until_ns) {
        hd_os_nap(HD_NS_PER_MS);
    }
}
