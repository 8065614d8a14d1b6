/* SPDX-License-Identifier: MIT
 *
 * Worker: may wait for the disk. No allocation. The thread's time is read from its clock, so that time whose
 * stack is not known is in the sum all the same.
 */
#include "worker/cpu_profile.h"

#include <string.h>

#include "base/text.h"
#include "capture/linux/target.h"
#include "publish/describe.h"
#include "publish/publish.h"
#include "record/uuid.h"
#include "worker/facts.h"
#include "worker/host.h"
#include "worker/other_threads.h"
#include "worker/sample.h"

static bool read_cpu_clock(hd_thread_id thread, uint64_t *cpu_ns) {
    return hd_os.thread_cpu_clock(hd_thread_id_tid(thread), cpu_ns) == 0;
}

static void drop(struct hd_worker *k) {
    atomic_store_explicit(&k->run->channel.cpu_thread, HD_THREAD_ID_NONE, memory_order_release);
    if (k->profile.on) {
        hd_tree_free(&k->profile.tree);
    }
    k->profile.on = false;
    k->turns.profile = NULL;
}

/* Nothing starts while a hang is open: that has a report of its own. */
static void start(struct hd_worker *k, const struct hd_message *msg) {
    struct hd_cpu_profile *p = &k->profile;
    drop(k);
    hd_thread_id thread = hd_turns_has_hang(&k->turns) ? HD_THREAD_ID_NONE : hd_threads_busiest(k);
    if (hd_thread_id_is_none(thread) || !read_cpu_clock(thread, &p->cpu_ns)) {
        return;
    }
    hd_scripts_begin(&k->scripts, hd_turns_is_empty(&k->turns));
    hd_tree_init(&p->tree, &k->turns.pool);
    p->on = true;
    k->turns.profile = &p->tree;
    p->thread = thread;
    p->watched = hd_watch_of_thread(&k->run->watches, thread) != NULL;
    p->stop = HD_STOP_NO_ANSWER;
    p->way = HD_WAY_KERNEL;
    p->cut = p->taken = 0;
    p->start_ns = hd_os_now_ns();
    p->start_wall_ns = hd_os_wall_ns() - msg->duration_ns; /* the period before counts, too */
    p->process_cpu_ns = hd_os_process_cpu_ns();
    p->charged_ns = p->cpu_ns;
    atomic_store_explicit(&k->run->channel.cpu_thread, thread, memory_order_release);
}

/* A watched thread's wait used no CPU: its time goes to the next stack that ran. Of another thread the waits
 * are all there is: each has the time up to it, and what lies between is no function's. */
void hd_cpu_profile_add(struct hd_worker *k, hd_thread_id thread, const struct hd_capture *c,
                        const struct hd_walk *walk, uint32_t count) {
    struct hd_cpu_profile *p = &k->profile;
    uint64_t cpu_ns;
    bool waits = c->state == HD_RUN_BLOCKED || c->state == HD_RUN_UNINTERRUPTIBLE;
    if (!p->on || !hd_thread_id_equal(p->thread, thread)) {
        return;
    }
    p->taken++;
    if (count == 0 || (waits && p->watched) || !read_cpu_clock(thread, &cpu_ns)) {
        return;
    }
    for (unsigned tries = 0; HD_TREE_POOL_NODES - k->turns.pool.used < count && tries < HD_TURNS_MAX;
         tries++) {
        hd_tree_fold(&p->tree, p->tree.nodes / 4);
    }
    uint32_t leaf = hd_tree_add(&p->tree, k->frames, count, c->at_ns);
    hd_tree_charge(&p->tree, leaf, cpu_ns > p->charged_ns ? cpu_ns - p->charged_ns : 0);
    p->charged_ns = cpu_ns;
    p->way = c->way;
    p->stop = walk->stop;
    p->cut = walk->cut;
}

static void sample(struct hd_worker *k, const struct hd_message *msg, const struct hd_capture *c) {
    const struct hd_watch *w = hd_watch_at(&k->run->watches, msg->loop);
    struct hd_walk walk;
    if (k->profile.on && w->generation == msg->generation) {
        uint32_t count = c->same ? 0 : hd_sample_frames(k, hd_loop_thread(&w->loop), c, &walk);
        hd_cpu_profile_add(k, hd_loop_thread(&w->loop), c, &walk, count);
    }
}

/* Only where it waits. The time that it ran is no function's: the stack of that time is not known. */
static void read_waiting(struct hd_worker *k) {
    struct hd_cpu_profile *p = &k->profile;
    struct hd_target target = {0};
    struct hd_capture c = {.state = HD_RUN_RUNNING};
    struct hd_walk walk = {0};
    uint64_t cpu_ns;
    uint32_t count = 0;
    if (!p->on) {
        return;
    }
    if (hd_target_open(&target, p->thread) == 0 && hd_capture_frozen(&target, k->others.stack, &c) == 0) {
        c.stack = k->others.stack;
        count = hd_sample_frames(k, p->thread, &c, &walk);
    } else if (read_cpu_clock(p->thread, &cpu_ns)) {
        hd_tree_charge(&p->tree, HD_TREE_NONE, cpu_ns - p->charged_ns);
        p->charged_ns = cpu_ns;
    }
    hd_target_close(&target);
    hd_cpu_profile_add(k, p->thread, &c, &walk, count);
}

/* ---- the report ----------------------------------------------------------------------------- */

static double percent(uint64_t cpu_ns, uint64_t ns) {
    return ns != 0 ? 100 * (double)cpu_ns / (double)ns : 0;
}

/* "thread 4711 used 97% of a CPU", "thread 4711 used 40% of a CPU, the process 180%" */
static void say(struct hd_cause *cause, const struct hd_cpu_use_shares *s) {
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

/* The other threads, and this one first, with its share of the whole period. */
static void fill_threads(struct hd_worker *k, const struct hd_cpu_use_shares *s, struct hd_report *r) {
    hd_host_read_process(k->probe.proc_fd, &k->process);
    hd_threads_capture(k, s->thread, s->thread);
    for (uint32_t i = 0; i < k->others.count; i++) {
        k->others.thread[i].cpu_percent = hd_thread_id_equal(k->others.thread[i].thread, s->thread)
                                              ? s->percent
                                              : k->others.thread[i].cpu_percent;
    }
    r->thread_count = (int)(k->others.count + k->others.left_out);
    struct hd_facts facts;
    hd_facts_take(&k->others, &k->process, &facts);
    hd_describe_process(&facts, r);
    hd_describe_threads(&facts, r);
}

static void publish(struct hd_worker *k, struct hd_cpu_profile *p, const struct hd_cpu_use_shares *s,
                    uint64_t ns) {
    struct hd_cause cause = {0};
    struct hd_hot_path hot;
    say(&cause, s);
    hot.count = hd_tree_hot_path(&p->tree, hot.node, HD_TREE_DEPTH_MAX);
    struct hd_report r;
    hd_describe_run(&k->publisher, HD_REPORT_CPU, &r);
    r.started_wall_ns = p->start_wall_ns;
    r.duration_ns = ns;
    r.cpu_percent = s->process_percent;
    r.cause = &cause;
    r.tree = &p->tree;
    r.hot_way = p->way;
    r.hot_stop = p->stop;
    r.hot_cut = p->cut;
    r.interval_ns = k->run->settings.interval_ns;
    r.taken = p->taken;
    r.cpu_use = s;
    r.fingerprint = hd_fingerprint_of(&k->publisher.code, &hot, &cause);
    fill_threads(k, s, &r);
    hd_uuid_make_at(r.id, r.started_wall_ns);
    hd_publish_write_capped(&k->publisher, &r);
}

static void report(struct hd_worker *k, const struct hd_message *msg) {
    struct hd_cpu_profile *p = &k->profile;
    uint64_t cpu_ns, ns = hd_os_now_ns() - p->start_ns;
    if (p->on && !hd_turns_has_hang(&k->turns) && read_cpu_clock(p->thread, &cpu_ns)) {
        struct hd_cpu_use_shares shares = {.thread = p->thread,
                                           .period_ns = msg->duration_ns,
                                           .percent = percent(cpu_ns - p->cpu_ns, ns),
                                           .process_percent =
                                               percent(hd_os_process_cpu_ns() - p->process_cpu_ns, ns)};
        hd_tree_charge(&p->tree, HD_TREE_NONE, cpu_ns > p->charged_ns ? cpu_ns - p->charged_ns : 0);
        publish(k, p, &shares, ns + msg->duration_ns);
    }
    drop(k);
}

void hd_cpu_profile_handle(struct hd_worker *k, const struct hd_message *msg, const struct hd_capture *c) {
    if (msg->type == HD_MSG_CPU_START) {
        start(k, msg);
    } else if (msg->type == HD_MSG_CPU_SAMPLE) {
        sample(k, msg, c);
    } else if (msg->type == HD_MSG_CPU_READ) {
        read_waiting(k);
    } else if (msg->type == HD_MSG_CPU_REPORT) {
        report(k, msg);
    } else {
        drop(k);
    }
}
