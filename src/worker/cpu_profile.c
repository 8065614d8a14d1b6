/* SPDX-License-Identifier: MIT
 *
 * Charges each stack with the CPU time that the thread used since the stack before it. If samples show the
 * thread while it runs, its stacks are not charged if it was blocked. Otherwise its stack can be read only
 * while it is blocked, so these stacks are charged. On the worker thread.
 */
#include "worker/cpu_profile.h"

static bool read_cpu_clock(hd_thread_id thread, uint64_t *cpu_ns) {
    return hd_os.thread_cpu_clock(thread.number, cpu_ns) == 0;
}

static uint64_t growth(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

bool hd_cpu_profile_start(struct hd_cpu_profile *p, struct hd_turns *turns, hd_thread_id thread,
                          uint64_t before_ns) {
    if (!read_cpu_clock(thread, &p->cpu_ns)) {
        return false;
    }
    hd_tree_init(&p->tree, &turns->pool);
    turns->profile = &p->tree;
    p->on = true;
    p->thread = thread;
    p->stop = HD_STOP_NO_ANSWER;
    p->way = HD_WAY_KERNEL;
    p->cut = p->taken = 0;
    p->start_ns = hd_os_now_ns();
    p->start_wall_ns = hd_os_wall_ns() - before_ns;
    p->process_cpu_ns = hd_os_process_cpu_ns();
    p->charged_ns = p->cpu_ns;
    return true;
}

void hd_cpu_profile_drop(struct hd_cpu_profile *p, struct hd_turns *turns) {
    if (p->on) {
        hd_tree_free(&p->tree);
    }
    p->on = false;
    turns->profile = NULL;
}

void hd_cpu_profile_add(struct hd_cpu_profile *p, const struct hd_tree_pool *pool, hd_thread_id thread,
                        const struct hd_capture *c, const struct hd_walk *walk, const struct hd_frame *frames,
                        uint32_t count) {
    uint64_t cpu_ns;
    bool waits = c->state == HD_RUN_BLOCKED || c->state == HD_RUN_UNINTERRUPTIBLE;
    if (!p->on || !hd_thread_id_equal(p->thread, thread)) {
        return;
    }
    p->taken++;
    if (count == 0 || (waits && p->while_running) || !read_cpu_clock(thread, &cpu_ns)) {
        return;
    }
    for (unsigned tries = 0; HD_TREE_POOL_NODES - pool->used < count && tries < HD_TURNS_MAX; tries++) {
        hd_tree_fold(&p->tree, p->tree.nodes / 4);
    }
    uint32_t leaf = hd_tree_add(&p->tree, frames, count, c->at_ns);
    hd_tree_charge(&p->tree, leaf, growth(p->charged_ns, cpu_ns));
    p->charged_ns = cpu_ns;
    p->way = c->way;
    p->stop = walk->stop;
    p->cut = walk->cut;
}

bool hd_cpu_profile_charge_rest(struct hd_cpu_profile *p, uint64_t *cpu_ns) {
    if (!read_cpu_clock(p->thread, cpu_ns)) {
        return false;
    }
    hd_tree_charge(&p->tree, HD_TREE_NONE, growth(p->charged_ns, *cpu_ns));
    p->charged_ns = *cpu_ns;
    return true;
}
