/* SPDX-License-Identifier: MIT
 *
 * The worker reads the stack of a blocked thread in place. For a running thread the worker reads what needs
 * no stack: the CPU use, and the functions of a script that the thread runs. On the worker thread.
 */
#include "worker/threads.h"

#include <errno.h>
#include <string.h>

#include "capture/capture.h"
#include "cause/deadlock.h"
#include "os/thread_list.h"
#include "script/joins.h"

#define BUDGET_NS (25 * HD_NS_PER_MS)
#define RETRY_NS (20 * HD_NS_PER_MS)
#define FRAMES_PER_THREAD 128
/* largest number of frames of one thread, including the functions of scripts */
#define MIXED_PER_THREAD 192
/* if two readings of the clock differ by this time or more, the worker may have lost the CPU between them */
#define READ_NS (100 * HD_NS_PER_US)

/* ---- the list --------------------------------------------------------------------------------- */

static void add_thread(struct hd_threads *t, hd_thread_id thread) {
    hd_thread_id monitor = atomic_load_explicit(&t->run->channel.threads.monitor, memory_order_relaxed);
    if (hd_thread_id_is_none(thread) || hd_thread_id_equal(thread, t->own) ||
        hd_thread_id_equal(thread, monitor)) {
        return;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (hd_thread_id_equal(t->thread[i].thread, thread)) {
            return;
        }
    }
    if (t->count == HD_THREADS_MAX) {
        t->left_out++;
        return;
    }
    t->seen[t->count].at_ns = 0;
    t->thread[t->count++] =
        (struct hd_thread_record){.thread = thread,
                                  .cpu_percent = -1,
                                  .syscall_nr = HD_SYSCALL_NONE,
                                  .error = EAGAIN,
                                  .way = HD_WAY_FROZEN,
                                  .watched = hd_watch_of_thread(&t->run->watches, thread) != NULL};
}

static void list_threads(struct hd_threads *t, hd_thread_id watched, hd_thread_id first) {
    t->count = t->left_out = t->frames_used = 0;
    t->captures++;
    add_thread(t, first);
    /* the watched thread is captured although it has samples, because a report of another loop's hang may use
     * the captured threads */
    add_thread(t, watched);
    struct hd_thread_list list;
    hd_thread_list_start(&list, t->probe->proc_fd);
    for (hd_thread_id next; !hd_thread_id_is_none(next = hd_thread_list_next(&list));) {
        add_thread(t, next);
    }
}

/* ---- a thread with a stack -------------------------------------------------------------------- */

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static void store_frames(struct hd_threads *t, struct hd_thread_record *r, uint32_t count) {
    memcpy(&t->frames[t->frames_used], t->stacks->frames, count * sizeof t->frames[0]);
    r->first = t->frames_used;
    r->count = (uint16_t)count;
    t->frames_used += count;
}

/* If `r` is the first captured thread, reads the name of the file that the thread's system call works on.
 * Reads no names for other threads, because only the first thread may own a lock. If settings.without_paths
 * is set, reads no name at all. */
static void read_path(struct hd_threads *t, struct hd_thread_record *r, const struct hd_capture *c) {
    if (r == t->thread && !t->run->settings.without_paths && r->syscall_nr != HD_SYSCALL_NONE &&
        hd_probe_file(t->probe, r->thread, c, t->first_path)) {
        r->path = t->first_path;
    }
}

/* Adds the functions of scripts to the frames of the thread. `room`: how many more frames t->frames has space
 * for. Returns the number of frames of the thread. */
static uint32_t expand_scripts(struct hd_threads *t, const struct hd_thread_record *r,
                               const struct hd_capture *c, const struct hd_walk *walk, uint32_t room) {
    uint32_t walk_max = least(room, FRAMES_PER_THREAD);
    const struct hd_script_stack stack = {.tid = hd_stacks_own_tid(t->stacks, r->thread),
                                          .cut_at = walk->cut != 0 ? walk_max - walk_max / 2 : 0,
                                          .bytes = t->stack,
                                          .address = c->stack_addr,
                                          .size = c->stack_bytes};
    return hd_scripts_expand(&t->stacks->scripts, t->stacks->frames, walk->count,
                             least(room, MIXED_PER_THREAD), &stack);
}

static void read_stack(struct hd_threads *t, struct hd_thread_record *r, const struct hd_capture *c) {
    struct hd_walk walk;
    uint32_t room = HD_THREAD_FRAMES_MAX - t->frames_used;
    uint32_t max = least(room, FRAMES_PER_THREAD);
    r->state = c->state;
    r->syscall_nr = hd_probe_call(t->probe, c);
    r->error = 0;
    if (max < 2) {
        r->error = ENOBUFS;
        return;
    }
    read_path(t, r, c);
    hd_unwind(t->stacks->unwinder, &c->regs, t->stack, c->stack_addr, c->stack_bytes, 0, t->stacks->frames,
              max, &walk);
    r->waits_for = hd_probe_awaited_thread(t->probe, c, t->stacks->frames, walk.count);
    store_frames(t, r, expand_scripts(t, r, c, &walk, room));
    r->cut = walk.cut;
    r->stop = hd_stacks_stop(&walk, c);
}

static void read_running_script(struct hd_threads *t, struct hd_thread_record *r) {
    uint32_t max = least(HD_THREAD_FRAMES_MAX - t->frames_used, FRAMES_PER_THREAD);
    int tid = hd_stacks_own_tid(t->stacks, r->thread);
    uint32_t count = max < 2 ? 0 : hd_scripts_running(&t->stacks->scripts, tid, t->stacks->frames, max);
    if (count != 0) {
        store_frames(t, r, count);
        r->error = 0;
        r->stop = HD_STOP_UNREADABLE;
    }
}

/* ---- a thread without a stack ----------------------------------------------------------------- */

/* Reads the CPU time of a thread of another process, which has no clock here. */
static bool read_sched_cpu(hd_thread_id thread, struct hd_thread_seen *out) {
    struct hd_target target = {0};
    struct hd_sched now = {0};
    bool read = hd_target_open(&target, thread) == 0 && hd_thread_clock_sched(&target.files, &now) == 0 &&
                hd_sched_known(&now);
    hd_target_close(&target);
    out->cpu_ns = now.cpu_ns;
    return read;
}

/* Reads the thread's CPU clock. The worker cannot use the thread's scheduling statistics instead, because
 * Linux updates them only at a tick of the kernel. False: the thread has ended. */
static bool read_cpu(const struct hd_threads *t, hd_thread_id thread, struct hd_thread_seen *out) {
    bool other = t->probe->pid != hd_os.get_pid();
    for (unsigned i = 0; i < 3; i++) {
        out->at_ns = hd_os_now_ns();
        if (hd_os.thread_cpu_clock(thread.number, &out->cpu_ns) != 0 &&
            !(other && read_sched_cpu(thread, out))) {
            return false;
        }
        if (hd_os_now_ns() - out->at_ns < READ_NS) {
            /* the worker kept the CPU between the two readings of the clock, so cpu_ns is the CPU time at
             * at_ns */
            break;
        }
    }
    return true;
}

static void read_share(const struct hd_threads *t, struct hd_thread_record *r, struct hd_thread_seen *first) {
    struct hd_thread_seen now;
    if (!read_cpu(t, r->thread, &now)) {
        return;
    }
    if (first->at_ns == 0) {
        *first = now;
    } else if (now.at_ns > first->at_ns) {
        double share = (double)(now.cpu_ns - first->cpu_ns) / (double)(now.at_ns - first->at_ns);
        r->cpu_percent = share < 1 ? 100 * share : 100;
    }
}

/* Returns the state of a thread whose stack the worker did not read. `error`: why it did not read the stack.
 * The worker can read the thread's state even if it has no right to read the thread's system call. */
static uint8_t state_of(const struct hd_target *target, int error) {
    enum hd_run_state state;
    if (error == -EAGAIN) {
        return HD_RUN_RUNNING;
    }
    if (hd_thread_files_state(&target->files, &state) == 0) {
        return state == HD_RUN_RUNNABLE ? HD_RUN_RUNNING : (uint8_t)state;
    }
    return error == -ESRCH || error == -ENOENT ? HD_RUN_GONE : HD_THREAD_STATE_UNKNOWN;
}

/* ---- all threads ------------------------------------------------------------------------------ */

/* Reads the thread's stack if the thread is blocked. False: the thread runs, so the function reads only its
 * CPU use. The caller may then try again, because the thread may be blocked by that time. */
static bool try_thread(struct hd_threads *t, struct hd_thread_record *r, struct hd_thread_seen *seen) {
    struct hd_target target = {0};
    struct hd_capture c;
    int rc = hd_target_open(&target, r->thread);
    if (rc == 0) {
        rc = hd_capture_frozen(&target, t->stack, &c);
    }
    if (rc == 0) {
        read_stack(t, r, &c);
        if (r->state != HD_RUN_RUNNING) {
            seen->cpu_ns = c.sched.cpu_ns;
            seen->slices = c.sched.slices;
        }
    } else {
        r->error = (int16_t)-rc;
        r->state = state_of(&target, rc);
    }
    hd_target_close(&target);
    if (r->state != HD_RUN_RUNNING) {
        return true;
    }
    read_share(t, r, seen);
    return false;
}

/* Reads a thread that ran at the first try. Where the system reads the stack of a running thread, the thread
 * has its stack already, and only its CPU use is read. */
static void try_again(struct hd_threads *t, struct hd_thread_record *r, struct hd_thread_seen *seen) {
    if (r->count != 0) {
        read_share(t, r, seen);
    } else if (!try_thread(t, r, seen)) {
        read_running_script(t, r);
    }
}

static void wait_until(uint64_t until_ns) {
    uint32_t word = 0;
    hd_os.futex_wait(&word, 0, until_ns, false);
}

/* Reads each thread once. After `until_ns`, leaves out all threads but the first two, because these may be
 * the owner of a lock and the watched thread. True: a thread other than `watched` runs, so the caller should
 * try again. The thread `watched` needs no second try, because the monitor samples it. */
static bool try_all(struct hd_threads *t, hd_thread_id watched, uint64_t until_ns) {
    bool again = false;
    for (uint32_t i = 0; i < t->count; i++) {
        if (i > 1 && hd_os_now_ns() > until_ns) {
            t->left_out += t->count - i;
            t->count = i;
            break;
        }
        hd_thread_name(t->probe->proc_fd, t->thread[i].thread, t->thread[i].name, sizeof t->thread[i].name);
        bool done = try_thread(t, &t->thread[i], &t->seen[i]);
        again = again || (!done && !hd_thread_id_equal(t->thread[i].thread, watched));
    }
    return again;
}

/* Up to 3.13 the threads of Python all have the program's name. Python has a name for each. */
static void name_python_threads(struct hd_threads *t, hd_thread_id watched) {
    char name[sizeof t->thread[0].name], program[sizeof name] = "";
    uint32_t at = 0;
    int tid;
    for (uint32_t i = 0; i < t->count; i++) {
        if (hd_thread_id_equal(t->thread[i].thread, watched)) {
            memcpy(program, t->thread[i].name, sizeof program);
        }
    }
    while (hd_scripts_next_thread(&t->stacks->scripts, &at, &tid, name, sizeof name)) {
        for (uint32_t i = 0; i < t->count; i++) {
            struct hd_thread_record *r = &t->thread[i];
            if (hd_stacks_own_tid(t->stacks, r->thread) == tid && !hd_thread_id_equal(r->thread, watched) &&
                strncmp(r->name, program, sizeof program) == 0) {
                memcpy(r->name, name, sizeof name);
            }
        }
    }
}

void hd_threads_capture(struct hd_threads *t, hd_thread_id watched, hd_thread_id first) {
    uint64_t start_ns = hd_os_now_ns();
    list_threads(t, watched, first);
    bool again = try_all(t, watched, start_ns + BUDGET_NS);
    name_python_threads(t, watched);
    if (!again) {
        return;
    }
    wait_until(start_ns + RETRY_NS);
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->thread[i].state == HD_RUN_RUNNING && hd_os_now_ns() - start_ns < RETRY_NS + BUDGET_NS) {
            try_again(t, &t->thread[i], &t->seen[i]);
        }
    }
}

hd_thread_id hd_threads_busiest(struct hd_threads *t) {
    uint64_t start_ns = hd_os_now_ns(), most_ns = 0;
    hd_thread_id busiest = HD_THREAD_ID_NONE;
    list_threads(t, HD_THREAD_ID_NONE, HD_THREAD_ID_NONE);
    for (uint32_t i = 0; i < t->count; i++) {
        t->seen[i].cpu_ns = UINT64_MAX;
        (void)read_cpu(t, t->thread[i].thread, &t->seen[i]);
    }
    wait_until(start_ns + RETRY_NS);
    for (uint32_t i = 0; i < t->count; i++) {
        struct hd_thread_seen now;
        bool read = read_cpu(t, t->thread[i].thread, &now) && now.cpu_ns > t->seen[i].cpu_ns;
        if (read && now.cpu_ns - t->seen[i].cpu_ns > most_ns) {
            most_ns = now.cpu_ns - t->seen[i].cpu_ns;
            busiest = t->thread[i].thread;
        }
    }
    return busiest;
}

/* ---- deadlocks -------------------------------------------------------------------------------- */

bool hd_threads_has_not_run(hd_thread_id thread, const struct hd_sched *since) {
    struct hd_target target = {0};
    struct hd_sched now = {0};
    bool same = hd_target_open(&target, thread) == 0 && hd_thread_clock_sched(&target.files, &now) == 0 &&
                hd_sched_known(&now) && now.slices == since->slices && now.cpu_ns == since->cpu_ns;
    hd_target_close(&target);
    return same;
}

/* The worker reads one thread after the other. If a lock changes its owner meanwhile, the threads may seem to
 * block each other in a cycle. A thread that has not run since its stack was read has neither taken nor
 * released a lock. So the search uses only threads that have not run. */
void hd_threads_find_deadlock(const struct hd_threads *t, hd_thread_id thread, struct hd_turn_threads *out) {
    struct hd_waits_for edges[HD_THREADS_MAX];
    struct hd_cause cause;
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct hd_thread_record *r = &t->thread[i];
        struct hd_sched seen = {.cpu_ns = t->seen[i].cpu_ns, .slices = t->seen[i].slices};
        if (!hd_thread_id_is_none(r->waits_for) && hd_threads_has_not_run(r->thread, &seen)) {
            edges[count++] = (struct hd_waits_for){r->thread, r->waits_for};
        }
    }
    if (hd_cause_find_ring(&cause, edges, count, thread)) {
        out->deadlock_count = cause.deadlock_count;
        memcpy(out->deadlock, cause.deadlock, sizeof out->deadlock);
    }
}
