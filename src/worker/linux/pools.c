/* SPDX-License-Identifier: MIT
 *
 * Most looks read one or two threads: a pool with a thread in its idle wait has no stall. On the worker
 * thread.
 */
#include "worker/pools.h"

#include <sys/syscall.h>

#include "cause/linux/descriptor.h"
#include "os/syscall_table.h"
#include "worker/pool_report.h"
#include "worker/pool_threads.h"

#define LIST_NS (200 * HD_NS_PER_MS)
#define LIST_MOST_NS (4 * HD_NS_PER_S)
#define LIST_COSTS 1000             /* a list is due after this many times its own CPU time: 0.1 % of a CPU */
#define LOOK_NS (50 * HD_NS_PER_MS) /* between looks while all threads of a pool are busy */
#define CHECK_MOST_NS (4 * HD_NS_PER_S)

/* Estimates the time of an event between two looks: the time of a loop's newest mark, if it lies there. */
static uint64_t between(uint64_t before_ns, uint64_t mark_ns, uint64_t now_ns) {
    if (mark_ns > before_ns && mark_ns <= now_ns) {
        return mark_ns;
    }
    return now_ns - before_ns <= 2 * LOOK_NS ? before_ns + (now_ns - before_ns) / 2 : now_ns;
}

/* Reads the thread's state. A place that was not seen before may be an idle wait, too. Only the check before
 * a report reads the stack, since a busy pool has new places at each look. `still`: each end of the pool's
 * work causes a turn of the loop, and there was none. So a busy thread has the same work as before. */
static void read_thread(struct hd_worker *worker, struct hd_pool_thread *t, bool still, uint64_t mark_ns,
                        uint64_t now_ns) {
    const struct hd_pool *pool = &worker->pools.pool[t->pool - 1];
    struct hd_proc_syscall call;
    struct hd_sched sched = {0};
    bool was_blocked = t->blocked && !t->is_idle, was_busy = !t->is_idle;
    bool read = hd_pool_threads_read_call(t, &call) > 0;
    t->blocked = read && call.where == HD_PROC_BLOCKED;
    t->is_idle = t->blocked && hd_pool_threads_is_idle(t, pool, &call);
    bool known = !t->is_idle && hd_thread_clock_sched(&t->files, &sched) == 0 && hd_sched_known(&sched);
    bool same = known && t->blocked && was_blocked && hd_thread_clock_same(&sched, &t->sched);
    t->stands = !t->is_idle && (same || (still && was_busy));
    if (!t->stands) {
        t->since_ns = between(t->read_ns, mark_ns, now_ns);
        t->proved_ns = now_ns;
        t->began = sched;
    }
    t->sched = sched;
    t->read_ns = now_ns;
}

struct look {
    uint64_t now_ns, mark_ns;
    bool moved; /* a loop has run since the look before */
};

/* Reads the pool's threads until one of them is in its idle wait. Returns the number of busy threads; 0: a
 * thread is free. *all_stand: each thread has the same work as at the look before. */
static uint32_t read_pool(struct hd_worker *worker, uint8_t index, const struct look *look, bool *all_stand) {
    struct hd_pools *p = &worker->pools;
    struct hd_pool *pool = &p->pool[index];
    bool still = !look->moved && pool->kind == HD_POOL_LIBUV, is_free = false;
    uint32_t busy = 0;
    *all_stand = true;
    for (unsigned pass = 0; pass < 2 && !is_free; pass++) {
        for (uint32_t i = 0; i < p->threads && !is_free; i++) {
            struct hd_pool_thread *t = &p->thread[i];
            /* first the threads that were free at the look before */
            if (t->pool == index + 1 && t->read_ns != look->now_ns && (pass == 1 || t->is_idle)) {
                read_thread(worker, t, still, look->mark_ns, look->now_ns);
                is_free = t->is_idle;
                busy++;
                *all_stand &= t->stands;
            }
        }
    }
    return is_free ? 0 : busy;
}

/* True: the thread waits for events of its own, for ever: it has a loop, takes connections, or reads a
 * device. It left the pool when it started that. */
static bool waits_for_events(const struct hd_worker *worker, const struct hd_pool_thread *t,
                             const struct hd_proc_syscall *call) {
    struct hd_evidence unused = {0};
    enum hd_fd_kind kind = HD_FD_NONE;
    if (call->where != HD_PROC_BLOCKED) {
        return false;
    }
    if (call->args[0] <= INT32_MAX) { /* no address */
        kind = hd_descriptor_kind(worker->probe.proc_fd, hd_thread_id_tid(t->thread), (int)call->args[0],
                                  &unused);
    }
    bool loop = kind == HD_FD_EPOLL && hd_syscall_wait(call->nr) == HD_WAIT_ANY;
    bool device = call->nr == SYS_read && (kind == HD_FD_EVENT || kind == HD_FD_TTY || kind == HD_FD_OTHER);
    return device || loop || call->nr == SYS_accept || call->nr == SYS_accept4 ||
           hd_syscall_wait(call->nr) == HD_WAIT_SIGNAL;
}

/* Before a report: reads all threads and all stacks anew. True: all threads of the pool are busy, it cannot
 * get another thread, and work waits, as far as that is known. */
static bool confirm(struct hd_worker *worker, uint8_t index, uint64_t now_ns, int32_t *queued) {
    struct hd_pools *p = &worker->pools;
    uint32_t threads = 0, most = 0, at_work = 0;
    hd_pool_threads_list(worker, now_ns, true);
    *queued = -1;
    for (uint32_t i = 0; i < p->threads; i++) {
        struct hd_pool_thread *t = &p->thread[i];
        struct hd_pool_stack stack = {.queued = -1};
        struct hd_proc_syscall call;
        if (t->pool != index + 1) {
            continue;
        }
        threads++;
        if (hd_pool_threads_read_call(t, &call) <= 0) {
            return false;
        }
        at_work += !waits_for_events(worker, t, &call);
        if (p->pool[index].kind == HD_POOL_OWN) {
            if (call.where == HD_PROC_BLOCKED && hd_pool_threads_is_idle(t, &p->pool[index], &call)) {
                return false;
            }
        } else if (hd_pool_threads_classify(worker, t, &stack) && stack.idle) {
            return false;
        }
        *queued = stack.queued > *queued ? stack.queued : *queued;
        most = stack.most > most ? stack.most : most;
    }
    switch ((enum hd_pool_kind)p->pool[index].kind) {
    case HD_POOL_OWN:
        return threads >= 2 && at_work != 0 && !p->pool[index].elastic;
    case HD_POOL_PYTHON:
        return *queued > 0;
    case HD_POOL_GLIB:
        return *queued > 0 || (most != 0 && threads >= most && most > 1);
    case HD_POOL_ANYIO:
        return threads >= most;
    default:
        return threads > 0;
    }
}

static bool is_certain(const struct hd_worker *worker, const struct hd_message *msg) {
    const struct hd_watch *w = hd_watch_at(&worker->run->watches, msg->loop);
    return w->generation == msg->generation &&
           atomic_load_explicit(&w->loop.found.certain, memory_order_acquire);
}

/* Checks a pool whose threads have had the same work for longer than the threshold. Returns how soon the next
 * check is due, 0: after a loop has run. A pool may be full for ever and no work may wait for it: then the
 * checks become rare. Work that comes later has waited only since the check that found it. */
static uint64_t check(struct hd_worker *worker, uint8_t index, const struct hd_message *msg, uint64_t now_ns,
                      uint64_t threshold_ns) {
    struct hd_pools *p = &worker->pools;
    struct hd_pool *pool = &p->pool[index];
    int32_t queued;
    if (p->turn.used || !is_certain(worker, msg)) {
        return p->turn.used ? LOOK_NS : 0;
    }
    if (pool->refuted_ns != 0) {
        uint64_t rare_ns = (pool->refuted_ns - pool->full_ns) / 8;
        rare_ns = rare_ns < threshold_ns ? threshold_ns : rare_ns > CHECK_MOST_NS ? CHECK_MOST_NS : rare_ns;
        uint64_t due_ns = pool->waits_ns != 0 ? pool->waits_ns + threshold_ns : pool->refuted_ns + rare_ns;
        if (pool->waits_ns == 0 && !pool->moved) {
            return 0;
        }
        if (now_ns < due_ns) {
            return due_ns - now_ns;
        }
    }
    pool->moved = false;
    if (!confirm(worker, index, now_ns, &queued)) {
        pool->refuted_ns = now_ns;
        pool->waits_ns = 0;
        return 0;
    }
    if (pool->refuted_ns != 0 && pool->waits_ns == 0) {
        pool->waits_ns = now_ns;
        return threshold_ns;
    }
    uint64_t start_ns = pool->waits_ns > pool->full_ns ? pool->waits_ns : pool->full_ns;
    hd_pool_report_open(worker, index, msg, start_ns, queued);
    return LOOK_NS;
}

/* Stores since when the pool's newest work lasts. Returns since when that is proved. */
static uint64_t newest_work(const struct hd_pools *p, uint8_t index, uint64_t *since_ns) {
    uint64_t proved_ns = 0;
    *since_ns = 0;
    for (uint32_t i = 0; i < p->threads; i++) {
        const struct hd_pool_thread *t = &p->thread[i];
        if (t->pool == index + 1) {
            *since_ns = t->since_ns > *since_ns ? t->since_ns : *since_ns;
            proved_ns = t->proved_ns > proved_ns ? t->proved_ns : proved_ns;
        }
    }
    return proved_ns;
}

/* Looks at one pool. Returns how soon the next look is due, 0: after a loop has run. */
static uint64_t look_at(struct hd_worker *worker, uint8_t index, const struct hd_message *msg,
                        const struct look *look) {
    struct hd_pools *p = &worker->pools;
    struct hd_pool *pool = &p->pool[index];
    uint64_t threshold_ns = atomic_load_explicit(
        &worker->run->settings.threshold_ns[HANGDOG_STATE_FOREGROUND], memory_order_relaxed);
    bool stalled = p->turn.used && p->stalled == index, all_stand;
    if (!stalled && pool->elastic && pool->kind == HD_POOL_OWN) {
        return 0;
    }
    uint32_t busy = read_pool(worker, index, look, &all_stand);
    if (stalled && (busy == 0 || !all_stand)) {
        hd_pool_report_end(worker, between(p->looked_ns, look->mark_ns, look->now_ns));
        stalled = false;
    }
    if (busy == 0) {
        pool->full_ns = 0;
        pool->free_ns = look->now_ns;
        return 0;
    }
    uint64_t proved_ns = newest_work(p, index, &pool->full_ns);
    pool->moved |= look->moved;
    if (proved_ns > pool->refuted_ns) {
        pool->refuted_ns = pool->waits_ns = 0;
    }
    if (stalled) {
        hd_pool_report_update(worker, look->now_ns);
    } else if (look->now_ns - proved_ns >= threshold_ns) {
        return check(worker, index, msg, look->now_ns, threshold_ns);
    }
    uint64_t step_ns = (look->now_ns - pool->full_ns) / 64;
    return step_ns > LOOK_NS ? step_ns : LOOK_NS;
}

/* Returns how long no list of the threads follows the last one. A process may have thousands of threads. */
static uint64_t list_step(const struct hd_pools *p) {
    uint64_t ns = LIST_COSTS * p->list_cost_ns;
    return ns < LIST_NS ? LIST_NS : ns > LIST_MOST_NS ? LIST_MOST_NS : ns;
}

void hd_pools_look(struct hd_worker *worker, const struct hd_message *msg) {
    struct hd_pools *p = &worker->pools;
    struct hd_channel_pools *channel = &worker->run->channel.pools;
    struct look look = {
        .now_ns = hd_os_now_ns(), .mark_ns = msg->at_ns, .moved = msg->start_ticks != p->marks};
    uint64_t again_ns = 0;
    p->marks = msg->start_ticks;
    if (look.now_ns >= p->listed_ns + list_step(p)) {
        hd_scripts_begin(&worker->stacks.scripts, hd_worker_has_no_tree(worker));
        hd_pool_threads_list(worker, look.now_ns, false);
        p->listed_marks = p->marks;
    }
    if (p->listed_marks != p->marks || hd_pool_threads_are_new(p)) {
        again_ns = p->listed_ns + list_step(p) - look.now_ns;
    }
    for (uint32_t i = 0; i < p->pools; i++) {
        uint64_t ns = look_at(worker, (uint8_t)i, msg, &look);
        again_ns = ns != 0 && (again_ns == 0 || ns < again_ns) ? ns : again_ns;
    }
    p->looked_ns = look.now_ns;
    atomic_store_explicit(&channel->again_ns, again_ns, memory_order_relaxed);
    atomic_store_explicit(&channel->after_ns, p->pools != 0 ? LOOK_NS : LIST_NS, memory_order_relaxed);
}

void hd_pools_end(struct hd_worker *worker) {
    if (worker->pools.turn.used) {
        hd_pool_report_end(worker, hd_os_now_ns());
    }
}
