/* SPDX-License-Identifier: MIT
 *
 * In a thread pool, one free thread is in epoll_wait for the loop's epoll instance. A lock blocks the other
 * free threads. The thread that gets the lock is the next to call epoll_wait. To be blocked by this lock is
 * no hang. On the worker thread.
 */
#include "worker/blocked.h"

#include <sys/syscall.h>

#include "cause/linux/reply_thread.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/thread_list.h"
#include "worker/threads.h"

/* largest number of threads that one search for the thread in epoll_wait reads; reading the system call of
 * one thread takes about 4 us */
#define SERVERS_MAX 64

/* True: what the worker now reads of the terminal is true for the sample too. Either this process has no
 * terminal, or the thread has not run since the sample. A shell that waits for a command gives the terminal
 * to a child, and that wait is not the loop's own. But the worker reads which process has the terminal only
 * after the sample. */
static bool is_of_now(const struct hd_probe_context *probe, const struct hd_turn *turn,
                      const struct hd_capture *c) {
    return hd_own_terminal(probe->proc_fd) == 0 || hd_threads_has_not_run(turn->loop.thread, &c->sched);
}

void hd_blocked_send(const struct hd_run *run, const struct hd_probe_context *probe,
                     const struct hd_turn *turn, const struct hd_capture *c, uint32_t depth) {
    const struct hd_recogniser *r = &run->ports.recogniser;
    const struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    if (r->blocked != NULL && c->state == HD_RUN_BLOCKED && depth != 0 && !hd_blocked_is_left(run) &&
        is_of_now(probe, turn, c)) {
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

static bool another_waits_by(int proc_fd, hd_thread_id thread, int32_t epoll) {
    struct hd_capture call;
    struct hd_thread_list list;
    bool waits = false;
    hd_thread_list_start(&list, proc_fd);
    for (int other, checked = 0;
         !waits && checked < SERVERS_MAX && (other = (int)hd_thread_list_next(&list).number) != 0;
         checked++) {
        waits = other != hd_thread_id_tid(thread) && hd_thread_syscall(proc_fd, other, &call) &&
                is_epoll_wait(call.syscall_nr) && (int32_t)call.syscall_args[0] == epoll;
    }
    hd_thread_list_end(&list);
    return waits;
}

/* True: the thread is still blocked in its call of futex. That the thread has not run does not prove this: it
 * may be woken, but have no CPU yet. So the function also checks the call, because the kernel shows no call
 * of a woken thread. */
static bool still_waits(int proc_fd, hd_thread_id thread, const struct hd_sched *since) {
    struct hd_capture call;
    return hd_thread_syscall(proc_fd, hd_thread_id_tid(thread), &call) && call.syscall_nr == SYS_futex &&
           hd_threads_has_not_run(thread, since);
}

/* True only if three conditions are met. The thread is blocked by a lock without an owner, at a call site of
 * the loop's thread pool. Another thread is in epoll_wait for the loop's epoll instance. After the worker has
 * found that other thread, the first thread is still blocked. If no thread is in epoll_wait, the thread that
 * serves the loop may be handling events, or may be ready but without a CPU. So the worker then checks the
 * next sample too, even if it equals this one (wants_equal). */
bool hd_blocked_is_served(const struct hd_run *run, const struct hd_probe_context *probe,
                          const struct hd_turn *turn, const struct hd_sample *sample) {
    const struct hd_recogniser *r = &run->ports.recogniser;
    struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    struct hd_blocked how = {.sp = sample->sp, .depth = sample->depth, .in_turn = true, .epoll = -1};
    bool may = r->blocked != NULL && sample->probe.syscall_nr == SYS_futex &&
               !hd_evidence_lock(&sample->probe)->ownable && sample->depth != 0 && !hd_blocked_is_left(run);
    if (may) {
        r->blocked(r->ctx, &w->loop, &how);
    }
    if (how.epoll >= 0) {
        how.served = another_waits_by(probe->proc_fd, turn->loop.thread, how.epoll) &&
                     still_waits(probe->proc_fd, turn->loop.thread, &sample->sched);
    }
    if (how.served) { /* proof, which the recogniser stores */
        r->blocked(r->ctx, &w->loop, &how);
    }
    how.served |= how.parked;
    /* The worker must check the next sample, because another thread may serve the loop by then. In a launch
     * the worker must check even if the loop's call site is unknown, because the recogniser may know the call
     * site by then. */
    may &= !how.served && (how.epoll >= 0 || turn->state == HANGDOG_STATE_LAUNCH);
    atomic_store_explicit(&w->worker.wants_equal, may, memory_order_relaxed);
    return how.served;
}
