/* SPDX-License-Identifier: MIT
 *
 * The worker thread: takes the monitor's messages and calls a function for each. It may wait for a disk. No
 * allocation; the watched thread calls none of it.
 */
#include "cause/probe.h"
#include "os/linux/descriptor_table.h"
#include "publish/publish.h"
#include "publish/spool_failure.h"
#include "watch/follow.h"
#include "worker/blocked.h"
#include "worker/crash_report.h"
#include "worker/hang.h"
#include "worker/host.h"
#include "worker/sample.h"
#include "worker/tracking.h"

#include <fcntl.h>

/* ---- start ------------------------------------------------------------------------------------ */

static size_t round_up(size_t n) {
    return (n + 63) & ~(size_t)63;
}

size_t hd_worker_bytes(void) {
    return round_up(sizeof(struct hd_worker)) + round_up(hd_report_scratch_bytes()) +
           round_up(hd_unwinder_bytes());
}

/* Files and mappings stay. */
static void confine(void *worker) {
    struct hd_worker *k = worker;
    hd_capture_files_confine();
    hd_spool_confine(&k->publisher.spool);
    k->probe.proc_fd = hd_private_table_confine(k->probe.proc_fd);
    k->publisher.marker_fd = hd_private_table_confine(k->publisher.marker_fd);
}

/* The main thread may wait for that while the worker has much to do before it takes messages. */
static void follow_early(const struct hd_worker *k) {
    (void)hd_follow_answer(k->run, HD_RUN_WORKER, NULL, NULL);
}

static void connect_publisher(struct hd_worker *k) {
    struct hd_publisher *p = &k->publisher;
    p->run = k->run;
    p->turns = &k->turns;
    p->app = &k->app;
    p->host = &k->host;
    p->code = (struct hd_code){
        .pool = &k->turns.pool, .modules = &k->modules, .scripts = &k->scripts, .executable = k->executable};
    p->marker_page = k->marker_page;
}

/* On the worker: its descriptors are of its table. */
static void init(struct hd_worker *k) {
    uint8_t *more = (uint8_t *)k + round_up(sizeof *k);
    k->publisher.scratch = (struct hd_report_scratch *)(void *)more;
    k->unwinder = (struct hd_unwinder *)(void *)(more + round_up(hd_report_scratch_bytes()));
    connect_publisher(k);
    hd_probe_context_open(&k->probe);
    if (k->run->settings.kept_file[0] != '\0') {
        int kept = hd_os.open_at(AT_FDCWD, k->run->settings.kept_file, O_RDWR | O_CLOEXEC, 0);
        atomic_store_explicit(&k->run->channel.threads.worker, k->own_thread, memory_order_relaxed);
        atomic_store_explicit(&k->run->channel.kept_fd, kept < 0 ? 0 : kept + 1, memory_order_release);
    }
    hd_modules_init_live(&k->modules, k->probe.mem_fd);
    follow_early(k);
    hd_unwinder_init(k->unwinder, &k->modules);
    hd_scripts_init(&k->scripts, &k->modules);
    hd_turns_init(&k->turns);
    follow_early(k);
    hd_host_fill(k);
    hd_probe_context_init(&k->probe, &k->modules, hd_thread_id_tid(k->own_thread));
    k->publisher.marker_fd =
        k->run->settings.runtime[0] != '/'
            ? -1
            : hd_os.open_at(AT_FDCWD, k->run->settings.runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    follow_early(k);
    int rc = hd_spool_open(&k->publisher.spool, k->run->settings.spool);
    k->publisher.spool.max_reports =
        k->run->settings.spool_reports == UINT32_MAX ? 0 : k->run->settings.spool_reports;
    if (rc != 0) { /* noted once; the program goes on */
        hd_spool_failure_store(k->run, rc);
    }
}

/* ---- messages --------------------------------------------------------------------------------- */

static void on_track(struct hd_worker *k, const struct hd_message *msg) {
    bool sole = !k->profile.on && hd_turns_is_empty(&k->turns);
    hd_sample_check_modules(k, !sole);
    hd_scripts_begin(&k->scripts, sole);
    (void)hd_tracking_start(&k->turns, k->run, &k->probe, msg);
}

static void take_verdict(void *worker, const struct hd_loop_verdict *verdict) {
    struct hd_worker *k = worker;
    if (verdict->word == HD_LOOP_CERTAIN) {
        hd_publish_certain(&k->publisher, verdict->loop, verdict->generation);
    } else {
        hd_publish_void(&k->publisher, verdict->loop, verdict->generation);
    }
}

static void recognise(struct hd_worker *k) {
    const struct hd_recogniser *r = &k->run->ports.recogniser;
    if (!hd_blocked_is_left(k->run)) {
        r->judge(r->ctx, &(struct hd_stack_tools){.unwinder = k->unwinder,
                                                  .modules = &k->modules,
                                                  .frames = k->frames,
                                                  .frames_max = HD_FRAMES_MAX,
                                                  .proc_fd = k->probe.proc_fd,
                                                  .ending = atomic_load_explicit(
                                                      &k->run->channel.stop.requested, memory_order_relaxed),
                                                  .send = take_verdict,
                                                  .worker = k});
    }
}

/* What waited since the last time, or was blocked, may speak against the loop whose reports are held: one
 * that is not beyond doubt is due each second, and so a second on it is. */
static void recognise_last(struct hd_worker *k) {
    const struct hd_recogniser *r = &k->run->ports.recogniser;
    if (r->due != NULL && r->due(r->ctx, hd_os_now_ns() + HD_NS_PER_S)) {
        recognise(k);
    }
}

/* False: the last message was there. */
static bool handle(struct hd_worker *k, const struct hd_message *msg) {
    const struct hd_capture *capture = (const struct hd_capture *)(const void *)(msg + 1);
    struct hd_turn *h = hd_turns_find(&k->turns, msg->loop, msg->generation);
    if (h != NULL) {
        h->cost.captures = msg->cost.captures;
        h->cost.monitor_cpu_ns = msg->cost.cpu_ns;
        h->cost.late_max_ns = msg->cost.late_max_ns;
        h->cost.degraded |= msg->cost.degraded;
    }
    switch ((enum hd_message_type)msg->type) {
    case HD_MSG_STOP:
        recognise_last(k);
        return false;
    case HD_MSG_DRY:
        hd_sample_try(k, capture);
        break;
    case HD_MSG_CERTAIN:
        hd_publish_certain(&k->publisher, msg->loop, msg->generation);
        break;
    case HD_MSG_TRACK:
        on_track(k, msg);
        break;
    case HD_MSG_SAMPLE:
        if (h != NULL) {
            hd_sample_add(k, h, msg, capture);
        }
        break;
    case HD_MSG_LATE:
        if (h != NULL) {
            hd_sample_add_late(k, h, capture);
        }
        break;
    case HD_MSG_OPEN:
        if (h != NULL && !h->report.opened) {
            hd_hang_open(k, h, msg);
        }
        break;
    case HD_MSG_END:
    case HD_MSG_FRAME:
        if (h != NULL) {
            (msg->type == HD_MSG_END ? hd_hang_end : hd_hang_frame)(k, h, msg);
        }
        break;
    case HD_MSG_WAITS:
        recognise(k);
        break;
    case HD_MSG_FORGET:
        if (h != NULL) {
            if (h->report.opened) {
                hd_publish_withdraw(&k->publisher, h);
            }
            hd_turn_free(h);
        }
        break;
    default: /* HD_MSG_CPU_* */
        hd_cpu_profile_handle(k, msg, capture);
    }
    return true;
}

void *hd_worker_run(void *worker) {
    struct hd_worker *k = worker;
    hd_os.set_thread_name("hangdog-worker");
    k->own_thread = hd_thread_id_self();
    hd_capture_files_open();
    hd_follow_open();
    init(k);
    hd_run_is_ready(k->run);
    for (bool on = true; on;) {
        uint32_t seen = atomic_load_explicit(&k->run->channel.worker_wake, memory_order_seq_cst);
        uint32_t bytes;
        const struct hd_message *msg;
        (void)hd_follow_answer(k->run, HD_RUN_WORKER, confine, k);
        while (on && (msg = hd_ring_peek(&k->run->channel.ring, &bytes)) != NULL) {
            on = handle(k, msg);
            hd_ring_release(&k->run->channel.ring);
        }
        if (on) {
            hd_crash_report(k);
            if (k->run->ports.live != NULL) {
                k->run->ports.live(k);
            }
            hd_hang_update_all(k);
        }
        atomic_store_explicit(&k->run->channel.worker_cpu_ns, hd_os_thread_cpu_ns(), memory_order_relaxed);
        if (on) {
            hd_os.futex_wait((uint32_t *)&k->run->channel.worker_wake, seen, UINT64_MAX, false);
        }
    }
    hd_publish_session(&k->publisher);
    hd_spool_close(&k->publisher.spool);
    atomic_store_explicit(&k->run->channel.stop.worker_done, 1, memory_order_release);
    hd_os.futex_wake((uint32_t *)&k->run->channel.stop.worker_done, INT32_MAX, false);
    return NULL;
}
