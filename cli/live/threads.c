/* SPDX-License-Identifier: MIT
 * Reads a blocked thread in place. Tries a running thread again for a tenth of a second, and then reads it by
 * a sample of the kernel. Without the right to samples only its use of a CPU and its script are known.
 */
#include "cli/live/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "cause/probe.h"
#include "cli/live/module_tables.h"
#include "cli/live/own_threads.h"
#include "cli/live/sampled.h"
#include "cli/live/stopped.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "os/thread_list.h"
#include "script/joins.h"
#include "unwind/unwind.h"

#define LOOK_NS (100 * HD_NS_PER_MS) /* for which a running thread may yet block */
#define BETWEEN_NS (2 * HD_NS_PER_MS)
#define STACK_ROOM (16u << 20)    /* of one thread; more is not read */
#define STOPPED_ROOM (256u << 10) /* of one that is stopped for it: some 20 us */
#define SAMPLES_NS (10 * LOOK_NS) /* for all running threads to get a CPU, LOOK_NS for one */
#define FRAMES_PER_THREAD 2048u
#define MIXED_PER_THREAD 3072u /* with the functions of scripts among them */
#define THREADS_MAX 100000u

struct live_reading {
    struct live_threads *t;
    struct hd_unwinder *unwinder;
    struct hd_probe_context probe;
    uint8_t *stack;
    bool stop, begun;
    bool is_watched; /* has threads of Hangdog */
    struct hd_frame frames[MIXED_PER_THREAD];
};

/* ---- names and numbers ------------------------------------------------------------------------ */

static int thread_called(void *arg, int tid) {
    return live_threads_called(arg, tid);
}

static void read_name(const struct live_threads *t, struct hd_thread_record *r) {
    char comm[sizeof r->name + 1];
    long n = hd_proc_read_task(t->process->proc_fd, hd_thread_id_tid(r->thread), "comm", comm, sizeof comm);
    comm[n > 0 ? n - 1 : 0] = '\0'; /* ends with a newline */
    memcpy(r->name, comm, sizeof r->name);
}

static int grow(void **items, size_t *room, size_t needed, size_t bytes) {
    if (needed <= *room) {
        return 0;
    }
    size_t more = *room != 0 ? *room : 64;
    while (more < needed) {
        more *= 2;
    }
    void *new = realloc(*items, more * bytes);
    if (new == NULL) {
        return -ENOMEM;
    }
    *items = new;
    *room = more;
    return 0;
}

static int list_threads(struct live_threads *t) {
    struct hd_thread_list list;
    int rc = 0;
    hd_thread_list_start(&list, t->process->proc_fd);
    for (int tid; rc == 0 && t->count < THREADS_MAX && (tid = (int)hd_thread_list_next(&list).number) != 0;) {
        size_t room = t->room;
        rc = grow((void **)&t->record, &room, t->count + 1, sizeof *t->record);
        if (rc == 0) {
            rc = grow((void **)&t->wait, &t->room, t->count + 1, sizeof *t->wait);
        }
        if (rc == 0) {
            t->wait[t->count] = (struct live_wait){0};
            t->record[t->count++] = (struct hd_thread_record){.thread = hd_thread_id_of(tid),
                                                              .cpu_percent = -1,
                                                              .syscall_nr = HD_SYSCALL_NONE,
                                                              .error = EAGAIN,
                                                              .state = HD_THREAD_STATE_UNKNOWN,
                                                              .way = HD_WAY_FROZEN};
        }
    }
    hd_thread_list_end(&list);
    return rc == 0 && t->count == 0 ? -ESRCH : rc;
}

/* ---- one thread ------------------------------------------------------------------------------- */

static int add_frames(struct live_threads *t, struct hd_thread_record *record, const struct hd_frame *frames,
                      uint32_t count) {
    int rc = grow((void **)&t->frame, &t->frames_room, t->frames + count, sizeof *t->frame);
    if (rc == 0) {
        memcpy(t->frame + t->frames, frames, count * sizeof *t->frame);
        record->first = (uint32_t)t->frames;
        record->count = (uint16_t)count;
        t->frames += count;
    }
    return rc;
}

static int keep_frames(struct live_reading *r, struct hd_thread_record *record, const struct hd_capture *c) {
    struct live_threads *t = r->t;
    struct hd_walk walk;
    hd_unwind(r->unwinder, &c->regs, c->stack, c->stack_addr, c->stack_bytes, 0, r->frames, FRAMES_PER_THREAD,
              &walk);
    struct hd_probe *probe = &t->wait[record - t->record].probe;
    hd_probe_read(&r->probe, record->thread, c, r->frames, walk.count, 0, probe);
    const struct hd_script_stack stack = {.tid = live_threads_own_number(t, hd_thread_id_tid(record->thread)),
                                          .cut_at = walk.cut != 0 ? FRAMES_PER_THREAD / 2 : 0,
                                          .bytes = c->stack,
                                          .address = c->stack_addr,
                                          .size = c->stack_bytes};
    uint32_t count = hd_scripts_expand(t->scripts, r->frames, walk.count, MIXED_PER_THREAD, &stack);
    if (hd_scripts_in_v8_collector(t->scripts, r->frames, count)) {
        probe->collector = HD_COLLECTOR_V8;
    }
    int owner;
    struct hd_lock_seen *lock = probe->evidence.kind == HD_EVIDENCE_LOCK ? &probe->evidence.lock : NULL;
    if (lock != NULL && lock->address != 0 && hd_scripts_is_gil(t->scripts, lock->address, &owner)) {
        lock->gil = true;
        lock->owner = hd_thread_id_of(
            owner == 0 || t->process->own_pid == t->process->pid ? owner : thread_called(t, owner));
    } else if (lock != NULL && hd_thread_id_is_none(hd_evidence_awaited_thread(probe))) {
        int joined = hd_scripts_joined(t->scripts, stack.tid);
        lock->joined = hd_thread_id_of(joined != 0 ? thread_called(t, joined) : 0);
    }
    record->waits_for = hd_evidence_awaited_thread(probe);
    record->cut = walk.cut;
    record->stop = c->truncated && walk.stop == HD_STOP_UNREADABLE ? HD_STOP_LIMIT : walk.stop;
    return add_frames(t, record, r->frames, count);
}

/* The first copy is short, as nearly all stacks are. */
static int capture(struct live_reading *r, hd_thread_id thread, struct hd_capture *c) {
    struct hd_target target = {0};
    int rc = hd_target_open(&target, thread);
    if (rc == 0) {
        rc = hd_capture_frozen(&target, r->stack, c);
    }
    if (rc == 0 && c->truncated) {
        hd_target_forget_last(&target);
        target.capacity = STACK_ROOM;
        rc = hd_capture_frozen(&target, r->stack, c);
    }
    hd_target_close(&target);
    return rc;
}

static void note_share(struct hd_thread_record *record, struct live_wait *w, const struct hd_capture *c) {
    uint64_t now_ns = hd_os_now_ns();
    if (w->at_ns == 0) {
        w->at_ns = now_ns;
        w->cpu_ns = c->sched.cpu_ns;
    } else if (now_ns > w->at_ns && c->sched.cpu_ns >= w->cpu_ns) {
        double share = 100 * (double)(c->sched.cpu_ns - w->cpu_ns) / (double)(now_ns - w->at_ns);
        record->cpu_percent = share < 100 ? share : 100;
    }
}

/* 0: the thread is read as far as possible; -EAGAIN: the thread runs; another value: no memory. */
static int read_thread(struct live_reading *r, size_t i) {
    struct hd_thread_record *record = &r->t->record[i];
    struct live_wait *w = &r->t->wait[i];
    struct hd_capture c = {.stack = NULL};
    int rc = capture(r, record->thread, &c);
    if (rc == -EAGAIN) {
        record->state = HD_RUN_RUNNING;
        note_share(record, w, &c);
        return rc;
    }
    record->state = rc == 0 ? c.state : rc == -ESRCH || rc == -ENOENT ? HD_RUN_GONE : HD_THREAD_STATE_UNKNOWN;
    record->error = (int16_t)-rc;
    if (rc != 0) {
        return 0;
    }
    record->syscall_nr = c.syscall_nr;
    record->cpu_percent = -1;
    w->sched = c.sched;
    return keep_frames(r, record, &c);
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* Tries running threads again until all are read, or the time is over. Each running thread is seen for all of
 * that time: the kernel counts a running thread's CPU time only at its ticks. */
static int read_all(struct live_reading *r) {
    struct live_threads *t = r->t;
    uint64_t since_ns = 0;
    int rc = 0;
    for (bool again = true; again && rc == 0;) {
        bool last = since_ns != 0 && hd_os_now_ns() - since_ns > LOOK_NS;
        again = false;
        for (size_t i = 0; i < t->count && rc == 0; i++) {
            if (t->record[i].error == EAGAIN) {
                rc = read_thread(r, i);
                again |= rc == -EAGAIN;
                rc = rc == -EAGAIN ? 0 : rc;
            }
        }
        since_ns = since_ns != 0 ? since_ns : hd_os_now_ns();
        again = again && !last;
        if (again) {
            hd_os_nap(BETWEEN_NS);
        }
    }
    return rc;
}

/* The Python functions of a running thread, from the interpreter's memory. */
static int keep_script(struct live_reading *r, struct hd_thread_record *record) {
    uint32_t count =
        hd_scripts_running(r->t->scripts, live_threads_own_number(r->t, hd_thread_id_tid(record->thread)),
                           r->frames, FRAMES_PER_THREAD);
    if (count == 0) {
        return 0;
    }
    record->error = 0;
    record->stop = HD_STOP_UNREADABLE;
    return add_frames(r->t, record, r->frames, count);
}

/* Copies the stack of a running thread. 0 or a negative errno value. */
static int capture_running(struct live_reading *r, int tid, uint64_t until_ns, struct hd_capture *c) {
    struct live_threads *t = r->t;
    uint64_t pause_ns = 0;
    int rc = sampled_capture(tid, until_ns, r->stack, c);
    if (rc != 0 && r->stop) {
        rc = stopped_capture(t->process->pid, tid, r->stack, STOPPED_ROOM, c, &pause_ns);
    }
    t->pause_total_ns += pause_ns;
    t->pause_max_ns = pause_ns > t->pause_max_ns ? pause_ns : t->pause_max_ns;
    return rc;
}

/* What still runs. 0, or there is no memory. */
static int read_running(struct live_reading *r) {
    struct live_threads *t = r->t;
    uint64_t end_ns = hd_os_now_ns() + SAMPLES_NS;
    int rc = 0;
    for (size_t i = 0; i < t->count && rc == 0; i++) {
        struct hd_capture c = {.stack = NULL};
        struct hd_thread_record *record = &t->record[i];
        uint64_t until_ns = hd_os_now_ns() + LOOK_NS;
        if (record->error != EAGAIN) {
            continue;
        }
        int error =
            capture_running(r, hd_thread_id_tid(record->thread), until_ns < end_ns ? until_ns : end_ns, &c);
        if (error == 0) {
            record->error = 0;
            record->way = c.way;
            rc = keep_frames(r, record, &c);
        } else {
            record->error = r->stop ? (int16_t)-error : EAGAIN;
            rc = keep_script(r, record);
        }
    }
    return rc;
}

/* Takes Hangdog's own threads out of the list. Before any thread is read. */
static void leave_out_own(struct live_reading *r) {
    struct live_threads *t = r->t;
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        bool own = own_thread_name(t->record[i].name);
        r->is_watched = r->is_watched || (own && own_threads_are_in(t->process));
        if (!own || !r->is_watched) {
            t->record[count++] = t->record[i];
        }
    }
    t->own = t->count - count;
    t->count = count;
}

/* The modules are others than at the last time, or it is the first time. */
static void begin(struct live_reading *r) {
    struct live_threads *t = r->t;
    const struct live_process *p = t->process;
    module_tables_begin(&t->map, t->modules);
    hd_unwinder_init(r->unwinder, t->modules);
    hd_scripts_init(t->scripts, t->modules);
    hd_os_close(r->probe.throttled_fd);
    r->probe = (struct hd_probe_context){.proc_fd = p->proc_fd,
                                         .mem_fd = p->mem_fd,
                                         .pid = p->pid,
                                         .thread_called = p->own_pid != p->pid ? thread_called : NULL,
                                         .thread_arg = t};
    hd_probe_context_init_other(&r->probe, t->modules, hd_thread_id_self(), module_map_libc(&t->map));
}

static int read_map(struct live_reading *r) {
    struct live_threads *t = r->t;
    struct module_map map;
    int rc = module_map_read(&map, t->process);
    if (rc != 0) {
        module_map_free(&map);
        return rc;
    }
    bool same = r->begun && module_map_has_files_of(&map, &t->map);
    module_map_free(&t->map);
    t->map = map;
    if (!same) {
        begin(r);
        r->begun = true;
    }
    return 0;
}

static int read_with(struct live_reading *r) {
    struct live_threads *t = r->t;
    const struct live_process *p = t->process;
    int rc = list_threads(t);
    if (rc == 0) {
        rc = hd_capture_process_open(p->proc_fd, p->pid);
    }
    if (rc == 0) {
        rc = read_map(r);
    }
    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; i < t->count; i++) {
        read_name(t, &t->record[i]);
    }
    leave_out_own(r);
    rc = read_all(r);
    if (rc == 0) {
        rc = read_running(r);
    }
    hd_capture_files_close();
    return rc;
}

int live_threads_read(struct live_threads *t, const struct live_process *p, bool stop) {
    *t = (struct live_threads){.process = p};
    struct live_reading *r = t->reading = calloc(1, sizeof *r);
    t->modules = calloc(1, sizeof *t->modules);
    t->scripts = calloc(1, sizeof *t->scripts);
    if (r == NULL || t->modules == NULL || t->scripts == NULL) {
        return -ENOMEM;
    }
    r->t = t;
    r->stop = stop;
    r->probe.throttled_fd = -1;
    r->unwinder = calloc(1, hd_unwinder_bytes());
    r->stack = malloc(STACK_ROOM);
    hd_os_clock_init();
    return r->unwinder != NULL && r->stack != NULL ? live_threads_again(t) : -ENOMEM;
}

int live_threads_again(struct live_threads *t) {
    t->count = t->frames = 0;
    t->pause_total_ns = t->pause_max_ns = 0;
    hd_scripts_begin(t->scripts, true);
    t->began_ns = hd_os_now_ns();
    int rc = read_with(t->reading);
    t->ended_ns = hd_os_now_ns();
    return rc;
}

void live_threads_free(struct live_threads *t) {
    if (t->reading != NULL) {
        hd_os_close(t->reading->probe.throttled_fd);
        free(t->reading->unwinder);
        free(t->reading->stack);
        free(t->reading);
    }
    module_map_free(&t->map);
    free(t->modules);
    free(t->scripts);
    free(t->record);
    free(t->wait);
    free(t->frame);
    *t = (struct live_threads){0};
}
