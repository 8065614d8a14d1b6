/* SPDX-License-Identifier: MIT */
#include "cli/outside/recognise_parked.h"

#include <string.h>

#include "cli/outside/recognise_wait.h"
#include "os/syscall_table.h"
#include "os/thread_list.h"

#define SERVERS_MAX 256 /* a look at one thread takes some 4 us */

static bool is_blocked_by_lock(const struct live_process *p, pid_t tid, uint64_t *sp) {
    struct outside_wait w;
    bool blocked = outside_wait_now(p, tid, &w) && hd_syscall_wait(w.nr) == HD_WAIT_LOCK;
    *sp = blocked ? w.regs.sp : 0;
    return blocked;
}

static bool another_waits(const struct live_process *p, pid_t tid, int32_t epoll) {
    struct hd_thread_list list;
    bool waits = false;
    hd_thread_list_start(&list, p->proc_fd);
    for (int other, n = 0; !waits && n < SERVERS_MAX && (other = (int)hd_thread_list_next(&list).number) != 0;
         n++) {
        struct outside_wait w;
        waits = other != tid && outside_wait_now(p, other, &w) && outside_wait_is_epoll(w.nr) &&
                (int32_t)w.args[0] == epoll;
    }
    hd_thread_list_end(&list);
    return waits;
}

bool outside_parked_now(struct outside_parked *k, const struct live_process *p, pid_t tid, int32_t epoll,
                        uint64_t turn_ns) {
    uint64_t sp, again;
    if (k->turn_ns != 0 && k->turn_ns == turn_ns) {
        return true;
    }
    if (!is_blocked_by_lock(p, tid, &sp)) {
        return false;
    }
    /* The thread that serves the loop may be busy now. The thread is parked at the same place as before. */
    bool parked =
        k->sp == sp || (another_waits(p, tid, epoll) && is_blocked_by_lock(p, tid, &again) && again == sp);
    if (parked) {
        *k = (struct outside_parked){.turn_ns = turn_ns, .sp = sp};
    }
    return parked;
}
