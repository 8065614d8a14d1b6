/* SPDX-License-Identifier: MIT
 *
 * Worker: every thread of the process but ours, captured when a hang opens, without a signal, and again where
 * one lasts that waits for a lock. A running one is told with its share of a processor and no frames. No
 * allocation.
 */
#include "worker/other_threads.h"

#include <errno.h>
#include <string.h>

#include "capture/linux/target.h"
#include "cause/deadlock.h"
#include "cause/linux/join.h"
#include "cause/linux/lock.h"
#include "cause/probe.h"
#include "os/linux/proc_files.h"
#include "worker/worker.h"

#define BUDGET_NS (25 * HD_NS_PER_MS)
#define RETRY_NS (20 * HD_NS_PER_MS)
#define FRAMES_PER_THREAD 128
#define MIXED_PER_THREAD 192 /* with the functions of scripts among them */

static void add_thread(struct hd_worker *k, hd_thread_id thread) {
    hd_thread_id monitor = atomic_load_explicit(&k->run->channel.threads.monitor, memory_order_relaxed);
    if (hd_thread_id_is_none(thread) || hd_thread_id_equal(thread, k->own_thread) ||
        hd_thread_id_equal(thread, monitor)) {
        return;
    }
    for (uint32_t i = 0; i < k->others.count; i++) {
        if (hd_thread_id_equal(k->others.thread[i].thread, thread)) {
            return;
        }
    }
    if (k->others.count == HD_THREADS_MAX) {
        k->others.left_out++;
        return;
    }
    k->others.seen[k->others.count].at_ns = 0;
    k->others.thread[k->others.count++] =
        (struct hd_thread_record){.thread = thread,
                                  .cpu_percent = -1,
                                  .syscall_nr = HD_SYSCALL_NONE,
                                  .error = EAGAIN,
                                  .way = HD_WAY_FROZEN,
                                  .watched = hd_watch_of_thread(&k->run->watches, thread) != NULL};
}

static void list_threads(struct hd_worker *k, hd_thread_id watched, hd_thread_id first) {
    k->others.count = k->others.left_out = k->others.frames_used = 0;
    add_thread(k, first);
    add_thread(k, watched); /* it is another one to a hang that another loop has */
    struct hd_proc_tasks tasks;
    hd_proc_tasks_start(&tasks, k->probe.proc_fd);
    for (int tid; (tid = hd_proc_tasks_next(&tasks)) != 0;) {
        add_thread(k, hd_thread_id_of(tid));
    }
}

static void read_name(const struct hd_worker *k, struct hd_thread_record *r) {
    char comm[sizeof r->name + 1];
    long n = hd_proc_read_task(k->probe.proc_fd, hd_thread_id_tid(r->thread), "comm", comm, sizeof comm);
    comm[n > 0 ? n - 1 : 0] = '\0'; /* ends with a newline */
    memcpy(r->name, comm, sizeof r->name);
}

static void keep_stack(struct hd_worker *k, struct hd_thread_record *r, const struct hd_capture *c) {
    struct hd_walk walk;
    uint32_t room = HD_THREAD_FRAMES_MAX - k->others.frames_used;
    uint32_t max = room < FRAMES_PER_THREAD ? room : FRAMES_PER_THREAD;
    r->state = c->state;
    r->syscall_nr = c->syscall_nr;
    r->error = 0;
    if (max < 2) {
        r->error = ENOBUFS;
        return;
    }
    if (r == k->others.thread && !k->run->settings.without_paths && c->syscall_nr != HD_SYSCALL_NONE &&
        hd_probe_file(&k->probe, hd_thread_id_tid(r->thread), c, k->others.first_path)) {
        r->path = k->others.first_path;
    }
    hd_unwind(k->unwinder, &c->regs, k->others.stack, c->stack_addr, c->stack_bytes, 0, k->frames, max,
              &walk);
    r->waits_for_tid = hd_lock_owner(&k->probe, c, k->frames, walk.count);
    r->waits_for_tid = r->waits_for_tid != 0 ? r->waits_for_tid : hd_join_target(&k->probe, c);
    const struct hd_script_stack stack = {.tid = hd_thread_id_tid(r->thread),
                                          .cut_at = walk.cut != 0 ? max - max / 2 : 0,
                                          .bytes = k->others.stack,
                                          .address = c->stack_addr,
                                          .size = c->stack_bytes};
    walk.count = hd_scripts_expand(&k->scripts, k->frames, walk.count,
                                   room < MIXED_PER_THREAD ? room : MIXED_PER_THREAD, &stack);
    memcpy(&k->others.frames[k->others.frames_used], k->frames, walk.count * sizeof k->frames[0]);
    r->first = k->others.frames_used;
    r->count = (uint16_t)walk.count;
    r->cut = walk.cut;
    r->stop = hd_stop_of(&walk, c);
    k->others.frames_used += walk.count;
}

/* Python's functions need no stack: a thread that runs in the interpreter has these. */
static void keep_running(struct hd_worker *k, struct hd_thread_record *r) {
    uint32_t room = HD_THREAD_FRAMES_MAX - k->others.frames_used;
    uint32_t max = room < FRAMES_PER_THREAD ? room : FRAMES_PER_THREAD;
    uint32_t count =
        max < 2 ? 0 : hd_scripts_running(&k->scripts, hd_thread_id_tid(r->thread), k->frames, max);
    if (count == 0) {
        return;
    }
    memcpy(&k->others.frames[k->others.frames_used], k->frames, count * sizeof k->frames[0]);
    r->first = k->others.frames_used;
    r->count = (uint16_t)count;
    r->error = 0;
    r->stop = HD_STOP_UNREADABLE;
    k->others.frames_used += count;
}

/* ---- without a stack ------------------------------------------------------------------------ */

#define READ_NS (100 * HD_NS_PER_US) /* longer than it takes to read two clocks, one after the other */

/* The thread's clock is brought up to date as it is read; its scheduling figures are only at a tick. */
static bool read_cpu(hd_thread_id thread, struct hd_thread_seen *out) {
    for (unsigned i = 0; i < 3; i++) {
        out->at_ns = hd_os_now_ns();
        if (hd_os.thread_cpu_clock(hd_thread_id_tid(thread), &out->cpu_ns) != 0) {
            return false;
        }
        if (hd_os_now_ns() - out->at_ns < READ_NS) {
            break; /* else we had to wait for a processor in between */
        }
    }
    return true;
}

static void note_share(struct hd_thread_record *r, struct hd_thread_seen *first) {
    struct hd_thread_seen now;
    if (!read_cpu(r->thread, &now)) {
        return;
    }
    if (first->at_ns == 0) {
        *first = now;
    } else if (now.at_ns > first->at_ns) {
        double share = (double)(now.cpu_ns - first->cpu_ns) / (double)(now.at_ns - first->at_ns);
        r->cpu_percent = share < 1 ? 100 * share : 100;
    }
}

/* Of a thread whose call cannot be read, what everybody may see of it. */
static uint8_t state_of(const struct hd_target *t, int error) {
    enum hd_run_state state;
    if (error == -EAGAIN) {
        return HD_RUN_RUNNING;
    }
    if (hd_target_state(t, &state) == 0) {
        return state == HD_RUN_RUNNABLE ? HD_RUN_RUNNING : (uint8_t)state;
    }
    return error == -ESRCH || error == -ENOENT ? HD_RUN_GONE : HD_THREAD_STATE_UNKNOWN;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* One try. False when it is worth another one: it ran. */
static bool try_thread(struct hd_worker *k, struct hd_thread_record *r, struct hd_thread_seen *seen) {
    struct hd_target target = {0};
    struct hd_capture c;
    int rc = hd_target_open(&target, r->thread);
    if (rc == 0) {
        rc = hd_capture_frozen(&target, k->others.stack, &c);
    }
    if (rc == 0) {
        keep_stack(k, r, &c);
        seen->cpu_ns = c.sched.cpu_ns;
        seen->slices = c.sched.slices;
    } else {
        r->error = (int16_t)-rc;
        r->state = state_of(&target, rc);
    }
    hd_target_close(&target);
    if (r->state != HD_RUN_RUNNING) {
        return true;
    }
    note_share(r, seen);
    return false;
}

static void wait_until(uint64_t until_ns) {
    uint32_t word = 0;
    hd_os.futex_wait(&word, 0, until_ns, false);
}

void hd_threads_capture(struct hd_worker *k, hd_thread_id watched, hd_thread_id first) {
    uint64_t begin_ns = hd_os_now_ns();
    list_threads(k, watched, first);
    bool again = false;
    for (uint32_t i = 0; i < k->others.count; i++) {
        if (i > 1 && hd_os_now_ns() - begin_ns > BUDGET_NS) { /* the first, or the second, may own the lock */
            k->others.left_out += k->others.count - i;
            k->others.count = i;
            break;
        }
        read_name(k, &k->others.thread[i]);
        bool done = try_thread(k, &k->others.thread[i], &k->others.seen[i]);
        again = again || (!done && !hd_thread_id_equal(k->others.thread[i].thread,
                                                       watched)); /* that one has samples */
    }
    if (!again) {
        return;
    }
    wait_until(begin_ns + RETRY_NS);
    for (uint32_t i = 0; i < k->others.count; i++) {
        if (k->others.thread[i].state == HD_RUN_RUNNING && hd_os_now_ns() - begin_ns < RETRY_NS + BUDGET_NS) {
            if (!try_thread(k, &k->others.thread[i], &k->others.seen[i])) {
                keep_running(k, &k->others.thread[i]);
            }
        }
    }
}

hd_thread_id hd_threads_busiest(struct hd_worker *k) {
    uint64_t begin_ns = hd_os_now_ns(), most_ns = 0;
    hd_thread_id busiest = HD_THREAD_ID_NONE;
    list_threads(k, HD_THREAD_ID_NONE, HD_THREAD_ID_NONE);
    for (uint32_t i = 0; i < k->others.count; i++) {
        k->others.seen[i].cpu_ns = UINT64_MAX;
        (void)read_cpu(k->others.thread[i].thread, &k->others.seen[i]);
    }
    wait_until(begin_ns + RETRY_NS);
    for (uint32_t i = 0; i < k->others.count; i++) {
        struct hd_thread_seen now;
        bool read = read_cpu(k->others.thread[i].thread, &now) && now.cpu_ns > k->others.seen[i].cpu_ns;
        if (read && now.cpu_ns - k->others.seen[i].cpu_ns > most_ns) {
            most_ns = now.cpu_ns - k->others.seen[i].cpu_ns;
            busiest = k->others.thread[i].thread;
        }
    }
    return busiest;
}

/* ---- deadlocks ------------------------------------------------------------------------------ */

bool hd_thread_stands_still(hd_thread_id thread, const struct hd_sched *since) {
    struct hd_target target = {0};
    struct hd_sched now = {0};
    bool still = hd_target_open(&target, thread) == 0 && hd_capture_sched(&target, &now) == 0 &&
                 hd_sched_known(&now) && now.slices == since->slices && now.cpu_ns == since->cpu_ns;
    hd_target_close(&target);
    return still;
}

/* They were read one after the other: a lock that goes from hand to hand meanwhile looks like a ring. */
void hd_threads_find_deadlock(struct hd_worker *k, struct hd_turn *h) {
    struct hd_waits_for edges[HD_THREADS_MAX];
    struct hd_cause cause;
    uint32_t count = 0;
    for (uint32_t i = 0; i < k->others.count; i++) {
        const struct hd_thread_record *r = &k->others.thread[i];
        struct hd_sched seen = {.cpu_ns = k->others.seen[i].cpu_ns, .slices = k->others.seen[i].slices};
        /* who has not run since its stack was read has neither taken nor released anything */
        if (r->waits_for_tid != 0 && hd_thread_stands_still(r->thread, &seen)) {
            edges[count++] = (struct hd_waits_for){hd_thread_id_tid(r->thread), r->waits_for_tid};
        }
    }
    if (hd_cause_find_ring(&cause, edges, count, hd_thread_id_tid(h->loop.thread))) {
        h->threads.deadlock_count = cause.deadlock_count;
        memcpy(h->threads.deadlock, cause.deadlock, sizeof h->threads.deadlock);
    }
}
