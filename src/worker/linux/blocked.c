/* SPDX-License-Identifier: MIT
 *
 * Worker: a blocked thread, as the recogniser needs it. No allocation.
 */
#include "worker/blocked.h"

#include <sys/syscall.h>

#include "cause/linux/reply_thread.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "worker/other_threads.h"

#define SERVERS_MAX 64 /* threads that are asked; each takes some 4 us */

/* Who has the terminal is asked now: of a sample that is read late it tells only if the thread has not run
 * since. A shell's command may have come and gone, which has nothing to do with where the shell idles. */
static bool is_of_now(const struct hd_worker *k, const struct hd_turn *h, const struct hd_capture *c) {
    return hd_own_terminal(k->probe.proc_fd) == 0 || hd_thread_stands_still(h->loop.thread, &c->sched);
}

void hd_blocked_send(const struct hd_worker *k, const struct hd_turn *h, const struct hd_capture *c,
                     uint32_t depth) {
    const struct hd_recogniser *r = &k->run->ports.recogniser;
    const struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop.slot);
    if (r->blocked != NULL && c->state == HD_RUN_BLOCKED && depth != 0 && !hd_blocked_is_left(k->run) &&
        is_of_now(k, h, c)) {
        r->blocked(r->ctx, &w->loop, &(struct hd_blocked){.sp = c->regs.sp, .depth = depth});
    }
}

static bool is_epoll_wait(int32_t nr) {
#ifdef SYS_epoll_wait
    if (nr == SYS_epoll_wait) {
        return true;
    }
#endif
    return nr == SYS_epoll_pwait || nr == SYS_epoll_pwait2;
}

static bool another_waits_by(const struct hd_worker *k, hd_thread_id thread, int32_t epoll) {
    struct hd_capture call;
    struct hd_proc_tasks tasks;
    bool waits = false;
    hd_proc_tasks_start(&tasks, k->probe.proc_fd);
    for (int other, checked = 0; !waits && checked < SERVERS_MAX && (other = hd_proc_tasks_next(&tasks)) != 0;
         checked++) {
        waits = other != hd_thread_id_tid(thread) && hd_thread_syscall(k->probe.proc_fd, other, &call) &&
                is_epoll_wait(call.syscall_nr) && (int32_t)call.syscall_args[0] == epoll;
    }
    hd_proc_tasks_end(&tasks);
    return waits;
}

/* It has not run, and was not woken to: such a one, without a processor, runs as far as its call tells. */
static bool still_waits(const struct hd_worker *k, hd_thread_id thread, const struct hd_sched *since) {
    struct hd_capture call;
    return hd_thread_syscall(k->probe.proc_fd, hd_thread_id_tid(thread), &call) &&
           call.syscall_nr == SYS_futex && hd_thread_stands_still(thread, since);
}

/* The thread waits for no lock with an owner, about where its loop waits by an epoll instance, and another
 * one does by the same: in a pool whoever comes first serves that, and the others are idle until it is their
 * turn. Who should serve may be busy, or without a processor, just now: then it is asked again at the next
 * sample, also at one that finds nothing new. However late we read that, the thread has not run since: it
 * waited there when the other one was seen to serve. */
bool hd_blocked_is_served(const struct hd_worker *k, const struct hd_turn *h, const struct hd_sample *s) {
    const struct hd_recogniser *r = &k->run->ports.recogniser;
    struct hd_watch *w = hd_watch_at(&k->run->watches, h->loop.slot);
    struct hd_blocked how = {.depth = s->depth, .in_turn = true, .epoll = -1};
    bool may = r->blocked != NULL && s->probe.syscall_nr == SYS_futex &&
               !hd_evidence_lock(&s->probe)->ownable && s->depth != 0 && !hd_blocked_is_left(k->run);
    if (may) {
        r->blocked(r->ctx, &w->loop, &how);
    }
    if (how.epoll >= 0) {
        how.served =
            another_waits_by(k, h->loop.thread, how.epoll) && still_waits(k, h->loop.thread, &s->sched);
    }
    if (how.served) {
        r->blocked(r->ctx, &w->loop, &how);
    }
    /* in a launch it may turn out later where the loop waits */
    may &= !how.served && (how.epoll >= 0 || h->state == HANGDOG_STATE_LAUNCH);
    atomic_store_explicit(&w->worker.wants_equal, may, memory_order_relaxed);
    return how.served;
}
