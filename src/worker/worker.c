/* SPDX-License-Identifier: MIT
 *
 * The worker thread. It handles each message of the monitor, then the requests of the program's threads. Then
 * it writes the reports of open hangs that are due.
 */
#include "worker/worker.h"

#include <fcntl.h>

#include "os/descriptor_table.h"
#include "publish/life.h"
#include "publish/publish.h"
#include "publish/spool_failure.h"
#include "watch/follow.h"
#include "worker/blocked.h"
#include "worker/cpu_report.h"
#include "worker/crash_report.h"
#include "worker/hang.h"
#include "worker/pools.h"
#include "worker/sample.h"
#include "worker/tracking.h"

/* ---- start ------------------------------------------------------------------------------------ */

static size_t round_up(size_t n) {
    return (n + 63) & ~(size_t)63;
}

size_t hd_worker_bytes(void) {
    return round_up(sizeof(struct hd_worker)) + round_up(hd_report_scratch_bytes()) +
           round_up(hd_unwinder_bytes());
}

void hd_worker_give_run(struct hd_worker *worker, struct hd_run *run) {
    worker->run = run;
}

void hd_worker_connect(struct hd_worker *worker) {
    uint8_t *more = (uint8_t *)worker + round_up(sizeof *worker);
    struct hd_publisher *p = &worker->publisher;
    worker->stacks.unwinder = (struct hd_unwinder *)(void *)(more + round_up(hd_report_scratch_bytes()));
    worker->threads.run = worker->run;
    worker->threads.stacks = &worker->stacks;
    worker->threads.probe = &worker->probe;
    worker->threads.own = worker->own_thread;
    p->run = worker->run;
    p->turns = &worker->turns;
    p->app = &worker->program.app;
    p->host = &worker->program.host;
    p->code = (struct hd_code){.pool = &worker->turns.pool,
                               .modules = &worker->stacks.modules,
                               .scripts = &worker->stacks.scripts,
                               .executable = worker->program.executable};
    p->marker_page = worker->marker_page;
    p->scratch = (struct hd_report_scratch *)(void *)more;
}

/* The worker calls this function after the program has changed its root folder. Replaces the descriptors by
 * which a path could leave the new root folder. */
static void confine(void *ctx) {
    struct hd_worker *worker = ctx;
    hd_capture_files_confine();
    hd_spool_confine(&worker->publisher.spool);
    worker->probe.proc_fd = hd_private_table_confine(worker->probe.proc_fd);
    worker->publisher.marker_fd = hd_private_table_confine(worker->publisher.marker_fd);
}

/* The main thread has given up rights, and is blocked until the worker has given them up too. Gives them up,
 * and answers the main thread. The worker calls this function several times during its start. So the main
 * thread need not be blocked for the whole start. */
static void follow_early(const struct hd_worker *worker) {
    (void)hd_follow_answer(worker->run, HD_RUN_WORKER, NULL, NULL);
}

/* Opens the file settings.kept_file, and stores its descriptor in channel.kept_fd. When the program calls
 * exec, our wrapper of exec opens the file again by that descriptor of the worker. */
static void open_kept_file(const struct hd_worker *worker) {
    const char *path = worker->run->settings.kept_file;
    struct hd_channel *channel = &worker->run->channel;
    if (path[0] != '\0') {
        int kept = hd_os.open_at(AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
        atomic_store_explicit(&channel->threads.worker, worker->own_thread, memory_order_relaxed);
        atomic_store_explicit(&channel->kept_fd, kept < 0 ? 0 : kept + 1, memory_order_release);
    }
}

/* Opens the spool. Stores a failure in the record and continues, because the program must not be disturbed.
 */
static void open_spool(struct hd_publisher *p) {
    const struct hd_settings *settings = &p->run->settings;
    int rc = hd_spool_open(&p->spool, settings->spool);
    p->spool.max_reports = settings->spool_reports == UINT32_MAX ? 0 : settings->spool_reports;
    if (rc != 0) {
        hd_spool_failure_store(p->run, rc);
    }
}

/* Prepares all parts of the worker. Must run on the worker thread, because the files that this function opens
 * must be in that thread's private descriptor table. */
static void start(struct hd_worker *worker) {
    struct hd_stacks *stacks = &worker->stacks;
    const char *runtime = worker->run->settings.runtime;
    hd_worker_connect(worker);
    hd_probe_context_open(&worker->probe);
    open_kept_file(worker);
    hd_modules_init_live(&stacks->modules, worker->probe.mem_fd);
    follow_early(worker);
    hd_unwinder_init(stacks->unwinder, &stacks->modules);
    hd_scripts_init(&stacks->scripts, &stacks->modules);
    hd_turns_init(&worker->turns);
    follow_early(worker);
    hd_host_fill(&worker->program, worker->run, worker->probe.proc_fd, &stacks->modules);
    hd_probe_context_init(&worker->probe, &stacks->modules, worker->own_thread);
    worker->publisher.marker_fd =
        runtime[0] == '/' ? hd_os.open_at(AT_FDCWD, runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0) : -1;
    follow_early(worker);
    open_spool(&worker->publisher);
    hd_life_start(&worker->publisher);
}

/* ---- recognition ------------------------------------------------------------------------------ */

static void take_verdict(void *ctx, const struct hd_loop_verdict *verdict) {
    struct hd_worker *worker = ctx;
    if (verdict->word == HD_LOOP_CERTAIN) {
        hd_publish_certain(&worker->publisher, verdict->loop, verdict->generation);
    } else {
        hd_publish_void(&worker->publisher, verdict->loop, verdict->generation);
    }
}

static void recognise(struct hd_worker *worker) {
    const struct hd_run *run = worker->run;
    const struct hd_recogniser *r = &run->ports.recogniser;
    if (!hd_blocked_is_left(run)) {
        r->judge(r->ctx, &(struct hd_stack_tools){.unwinder = worker->stacks.unwinder,
                                                  .modules = &worker->stacks.modules,
                                                  .frames = worker->stacks.frames,
                                                  .frames_max = HD_FRAMES_MAX,
                                                  .proc_fd = worker->probe.proc_fd,
                                                  .ending = atomic_load_explicit(&run->channel.stop.requested,
                                                                                 memory_order_relaxed),
                                                  .send = take_verdict,
                                                  .worker = worker});
    }
}

/* Runs the recogniser a last time, because the newest waits may be evidence against a loop with deferred
 * reports. During a turn the recogniser judges only once a second. If its next judgement is due within a
 * second, this function runs it at once. */
static void recognise_last(struct hd_worker *worker) {
    const struct hd_recogniser *r = &worker->run->ports.recogniser;
    if (r->due != NULL && r->due(r->ctx, hd_os_now_ns() + HD_NS_PER_S)) {
        recognise(worker);
    }
}

/* ---- messages --------------------------------------------------------------------------------- */

static void track(struct hd_worker *worker, const struct hd_message *msg) {
    bool no_tree = hd_worker_has_no_tree(worker);
    hd_stacks_check_modules(&worker->stacks, !no_tree);
    hd_scripts_begin(&worker->stacks.scripts, no_tree);
    (void)hd_tracking_start(&worker->turns, worker->run, &worker->probe, msg);
}

static void forget(struct hd_worker *worker, struct hd_turn *turn) {
    if (turn->report.opened) {
        hd_publish_withdraw(&worker->publisher, turn);
    }
    hd_turn_free(turn);
}

static void handle_turn(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg,
                        const struct hd_capture *c) {
    turn->cost.captures = msg->cost.captures;
    turn->cost.monitor_cpu_ns = msg->cost.cpu_ns;
    turn->cost.late_max_ns = msg->cost.late_max_ns;
    turn->cost.degraded |= msg->cost.degraded;
    switch ((enum hd_message_type)msg->type) {
    case HD_MSG_SAMPLE:
        hd_sample_add(worker, turn, msg, c);
        break;
    case HD_MSG_LATE:
        hd_sample_add_late(worker, turn, c);
        break;
    case HD_MSG_OPEN:
        if (!turn->report.opened) {
            hd_hang_open(worker, turn, msg);
        }
        break;
    case HD_MSG_END:
        hd_hang_end(worker, turn, msg);
        break;
    case HD_MSG_FRAME:
        hd_hang_frame(worker, turn, msg);
        break;
    case HD_MSG_FORGET:
        forget(worker, turn);
        break;
    default:
        break;
    }
}

bool hd_worker_handle(struct hd_worker *worker, const struct hd_message *msg) {
    const struct hd_capture *c = (const struct hd_capture *)(const void *)(msg + 1);
    struct hd_turn *turn = hd_turns_find(&worker->turns, msg->loop, msg->generation);
    if (turn != NULL) {
        handle_turn(worker, turn, msg, c);
    }
    switch ((enum hd_message_type)msg->type) {
    case HD_MSG_STOP:
        hd_pools_end(worker);
        recognise_last(worker);
        return false;
    case HD_MSG_DRY:
        hd_sample_try(worker, c);
        break;
    case HD_MSG_CERTAIN:
        hd_publish_certain(&worker->publisher, msg->loop, msg->generation);
        break;
    case HD_MSG_TRACK:
        track(worker, msg);
        break;
    case HD_MSG_WAITS:
        recognise(worker);
        break;
    case HD_MSG_POOLS:
        hd_pools_look(worker, msg);
        break;
    case HD_MSG_CPU_START:
    case HD_MSG_CPU_SAMPLE:
    case HD_MSG_CPU_READ:
    case HD_MSG_CPU_REPORT:
    case HD_MSG_CPU_DROP:
        hd_cpu_report_handle(worker, msg, c);
        break;
    /* Messages of all other types are about a turn. If the worker follows that turn, handle_turn has handled
     * them. */
    default:
        break;
    }
    return true;
}

/* Handles all messages in the ring. False: the monitor has sent its last message. */
static bool handle_all(struct hd_worker *worker) {
    struct hd_ring *ring = &worker->run->channel.ring;
    const struct hd_message *msg;
    uint32_t bytes;
    bool on = true;
    while (on && (msg = hd_ring_peek(ring, &bytes)) != NULL) {
        on = hd_worker_handle(worker, msg);
        hd_ring_release(ring);
    }
    return on;
}

/* ---- the thread ------------------------------------------------------------------------------- */

static void finish(struct hd_worker *worker) {
    struct hd_channel *channel = &worker->run->channel;
    hd_publish_session(&worker->publisher);
    hd_life_end();
    hd_spool_close(&worker->publisher.spool);
    atomic_store_explicit(&channel->stop.worker_done, 1, memory_order_release);
    hd_os.futex_wake((uint32_t *)&channel->stop.worker_done, INT32_MAX, false);
}

void *hd_worker_run(void *memory) {
    struct hd_worker *worker = memory;
    struct hd_run *run = worker->run;
    hd_os.set_thread_name("hangdog-worker");
    worker->own_thread = hd_thread_id_self();
    hd_capture_files_open();
    hd_follow_open();
    start(worker);
    hd_run_is_ready(run);
    for (bool on = true; on;) {
        uint32_t seen = atomic_load_explicit(&run->channel.worker_wake, memory_order_seq_cst);
        (void)hd_follow_answer(run, HD_RUN_WORKER, confine, worker);
        on = handle_all(worker);
        if (on) {
            hd_crash_report(worker);
            if (run->ports.live != NULL) {
                run->ports.live(worker);
            }
            hd_hang_update_all(worker);
        }
        atomic_store_explicit(&run->channel.worker_cpu_ns, hd_os_thread_cpu_ns(), memory_order_relaxed);
        if (on) {
            hd_os.futex_wait((uint32_t *)&run->channel.worker_wake, seen, UINT64_MAX, false);
        }
    }
    finish(worker);
    return NULL;
}
