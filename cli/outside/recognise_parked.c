/* SPDX-License-Identifier: MIT */
#include "cli/outside/recognise_parked.h"

#include <string.h>

#include "cli/outside/recognise_wait.h"
#include "os/syscall_table.h"
#include "os/thread_list.h"

#define SERVERS_MAX 256 /* a look at one thread takes some 4 us */
/* A turn of this age is looked at. An older one in which the thread was not parked is a hang. A parked thread
 * is looked at again after AGAIN_NS. */
#define YOUNG_NS (80 * HD_NS_PER_MS)
#define OLD_NS (1 * HD_NS_PER_S)
#define AGAIN_NS (200 * HD_NS_PER_MS)

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

static bool is_parked(struct outside_parked *k, const struct live_process *p, pid_t tid, int32_t epoll) {
    uint64_t sp, again;
    if (!is_blocked_by_lock(p, tid, &sp)) {
        return false;
    }
    /* The thread that serves the loop may be busy now. The thread is parked at the same place as before. */
    bool parked =
        k->sp == sp || (another_waits(p, tid, epoll) && is_blocked_by_lock(p, tid, &again) && again == sp);
    k->sp = parked ? sp : k->sp;
    return parked;
}

void outside_parked_look(struct outside_parked *k, const struct live_process *p, pid_t tid, int32_t epoll,
                         uint64_t now_ns, struct hd_hook_thread *seen) {
    uint64_t turn_ns = seen->since_ns - seen->earlier_ns; /* stays the same while the thread is suspected */
    uint64_t age_ns = now_ns - turn_ns;
    bool known = k->turn_ns == turn_ns && turn_ns != 0;
    if (!seen->known || seen->waits || (!known && (age_ns < YOUNG_NS || age_ns > OLD_NS))) {
        return;
    }
    bool fresh = known && k->parked && now_ns - k->looked_ns < AGAIN_NS;
    bool parked = fresh || is_parked(k, p, tid, epoll);
    if (!known && !parked) {
        return;
    }
    if (!known) {
        *k = (struct outside_parked){.turn_ns = turn_ns, .sp = k->sp, .since_ns = turn_ns};
    } else if (parked != k->parked) {
        k->earlier_ns = parked ? 0 : now_ns - k->looked_ns;
        k->since_ns = parked ? k->looked_ns : now_ns;
    }
    k->parked = parked;
    k->looked_ns = fresh ? k->looked_ns : now_ns;
    seen->waits = parked;
    seen->since_ns = k->since_ns;
    seen->earlier_ns = k->earlier_ns;
}
