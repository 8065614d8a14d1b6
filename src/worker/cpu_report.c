/* SPDX-License-Identifier: MIT
 *
 * The monitor measures the CPU use of the process, and sends messages HD_MSG_CPU_*. At these messages the
 * worker starts a profile, adds samples to it, and writes the report. The disk may block the worker here. On
 * the worker thread.
 */
#include "worker/cpu_report.h"

#include "base/text.h"
#include "capture/capture.h"
#include "publish/describe.h"
#include "publish/publish.h"
#include "record/uuid.h"
#include "worker/facts.h"

/* ---- the profile ------------------------------------------------------------------------------ */

static void set_thread(const struct hd_worker *worker, hd_thread_id thread) {
    atomic_store_explicit(&worker->run->channel.cpu_thread, thread, memory_order_release);
}

static void drop(struct hd_worker *worker) {
    set_thread(worker, HD_THREAD_ID_NONE);
    hd_cpu_profile_drop(&worker->profile, &worker->turns);
}

/* Starts a profile of the thread that uses the most CPU time. While a hang is open, starts no profile,
 * because the hang's report has the stacks already. `period_ns`: for how long the monitor measured the CPU
 * use of the process before. The report covers that time too. */
static void start(struct hd_worker *worker, uint64_t period_ns) {
    drop(worker);
    if (hd_turns_has_hang(&worker->turns)) {
        return;
    }
    hd_thread_id thread = hd_threads_busiest(&worker->threads);
    bool no_tree = hd_worker_has_no_tree(worker);
    if (!hd_thread_id_is_none(thread) &&
        hd_cpu_profile_start(&worker->profile, &worker->turns, thread, period_ns)) {
        hd_scripts_begin(&worker->stacks.scripts, no_tree);
        worker->profile.while_running = hd_watch_of_thread(&worker->run->watches, thread) != NULL;
        set_thread(worker, thread);
    }
}

static void add(struct hd_worker *worker, hd_thread_id thread, const struct hd_capture *c,
                const struct hd_walk *walk, uint32_t count) {
    hd_cpu_profile_add(&worker->profile, &worker->turns.pool, thread, c, walk, worker->stacks.frames, count);
}

static void add_sample(struct hd_worker *worker, const struct hd_message *msg, const struct hd_capture *c) {
    const struct hd_watch *w = hd_watch_at(&worker->run->watches, msg->loop);
    if (worker->profile.on && w->generation == msg->generation) {
        hd_thread_id thread = hd_loop_thread(&w->loop);
        struct hd_walk walk;
        uint32_t count = c->same ? 0 : hd_stacks_read(&worker->stacks, thread, c, &walk);
        add(worker, thread, c, &walk, count);
    }
}

/* Adds the stack of the profile's thread to the profile, if that thread is blocked. On Linux the worker
 * cannot read the stack of a running thread in place. The CPU time that the thread used since its newest
 * stack is then charged to no function. */
static void read_waiting(struct hd_worker *worker) {
    struct hd_cpu_profile *p = &worker->profile;
    struct hd_target target = {0};
    struct hd_capture c = {.state = HD_RUN_RUNNING};
    struct hd_walk walk = {0};
    uint64_t cpu_ns;
    uint32_t count = 0;
    if (!p->on) {
        return;
    }
    if (hd_target_open(&target, p->thread) == 0 &&
        hd_capture_frozen(&target, worker->threads.stack, &c) == 0) {
        c.stack = worker->threads.stack;
        p->while_running |= c.state == HD_RUN_RUNNING;
        count = hd_stacks_read(&worker->stacks, p->thread, &c, &walk);
    } else {
        (void)hd_cpu_profile_charge_rest(p, &cpu_ns);
    }
    hd_target_close(&target);
    add(worker, p->thread, &c, &walk, count);
}

/* ---- the report ------------------------------------------------------------------------------- */

static double percent(uint64_t cpu_ns, uint64_t ns) {
    return ns != 0 ? 100 * (double)cpu_ns / (double)ns : 0;
}

/* Stores in the cause a sentence such as "thread 4711 used 97% of a CPU", or "thread 4711 used 40% of a CPU,
 * the process 180%". */
static void describe_cause(struct hd_cause *cause, const struct hd_cpu_use_shares *s) {
    struct hd_text t;
    hd_text_init(&t, cause->detail, sizeof cause->detail);
    hd_text_str(&t, "thread ");
    hd_text_u64(&t, s->thread.number);
    hd_text_str(&t, " used ");
    hd_text_i64(&t, (int64_t)(s->percent + 0.5));
    hd_text_str(&t, "% of a CPU");
    if (s->process_percent > s->percent + 10) {
        hd_text_str(&t, ", the process ");
        hd_text_i64(&t, (int64_t)(s->process_percent + 0.5));
        hd_text_str(&t, "%");
    }
    cause->kind = HD_CAUSE_CPU;
    cause->share = s->percent < 100 ? s->percent / 100 : 1;
    cause->syscall_nr = HD_SYSCALL_NONE;
}

/* Captures all threads, the profile's thread first. For that thread the report shows its CPU use since the
 * profile started, not its CPU use during this capture. */
static void describe_threads(struct hd_worker *worker, const struct hd_cpu_use_shares *s,
                             struct hd_report *r) {
    struct hd_threads *threads = &worker->threads;
    struct hd_facts facts;
    hd_host_read_process(worker->probe.proc_fd, &worker->process);
    hd_threads_capture(threads, s->thread, s->thread);
    for (uint32_t i = 0; i < threads->count; i++) {
        if (hd_thread_id_equal(threads->thread[i].thread, s->thread)) {
            threads->thread[i].cpu_percent = s->percent;
        }
    }
    r->thread_count = (int)(threads->count + threads->left_out);
    hd_facts_take(threads, &worker->process, &facts);
    hd_describe_process(&facts, r);
    hd_describe_threads(&facts, r);
}

static void publish(struct hd_worker *worker, const struct hd_cpu_use_shares *s, uint64_t duration_ns) {
    const struct hd_cpu_profile *p = &worker->profile;
    struct hd_cause cause = {0};
    struct hd_hot_path hot;
    describe_cause(&cause, s);
    hot.count = hd_tree_hot_path(&p->tree, hot.node, HD_TREE_DEPTH_MAX);
    struct hd_report r;
    hd_describe_run(&worker->publisher, HD_REPORT_CPU, &r);
    r.started_wall_ns = p->start_wall_ns;
    r.duration_ns = duration_ns;
    r.cpu_percent = s->process_percent;
    r.cause = &cause;
    r.tree = &p->tree;
    r.hot_way = p->way;
    r.hot_stop = p->stop;
    r.hot_cut = p->cut;
    r.interval_ns = worker->run->settings.interval_ns;
    r.taken = p->taken;
    r.cpu_use = s;
    r.fingerprint = hd_fingerprint_of(&worker->publisher.code, &hot, &cause);
    describe_threads(worker, s, &r);
    hd_uuid_make_at(r.id, r.started_wall_ns);
    hd_publish_write_capped(&worker->publisher, &r);
}

static void report(struct hd_worker *worker, uint64_t period_ns) {
    struct hd_cpu_profile *p = &worker->profile;
    uint64_t cpu_ns, ns = hd_os_now_ns() - p->start_ns;
    if (p->on && !hd_turns_has_hang(&worker->turns) && hd_cpu_profile_charge_rest(p, &cpu_ns)) {
        uint64_t process_cpu_ns = hd_os_process_cpu_ns() - p->process_cpu_ns;
        struct hd_cpu_use_shares shares = {.thread = p->thread,
                                           .period_ns = period_ns,
                                           .percent = percent(cpu_ns - p->cpu_ns, ns),
                                           .process_percent = percent(process_cpu_ns, ns)};
        publish(worker, &shares, ns + period_ns);
    }
    drop(worker);
}

void hd_cpu_report_handle(struct hd_worker *worker, const struct hd_message *msg,
                          const struct hd_capture *c) {
    if (msg->type == HD_MSG_CPU_START) {
        start(worker, msg->duration_ns);
    } else if (msg->type == HD_MSG_CPU_SAMPLE) {
        add_sample(worker, msg, c);
    } else if (msg->type == HD_MSG_CPU_READ) {
        read_waiting(worker);
    } else if (msg->type == HD_MSG_CPU_REPORT) {
        report(worker, msg->duration_ns);
    } else {
        drop(worker);
    }
}
