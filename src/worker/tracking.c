/* SPDX-License-Identifier: MIT
 *
 * When tracking of a turn starts, stores counters of the process and of the process's control group: CPU
 * times, page faults, throttled time, stall times. The turn's report says by how much they grew since that
 * time. On the worker thread.
 */
#include "worker/tracking.h"

#include "cause/pressure.h"
#include "cause/throttled.h"

static const char *scheme_of(const struct hd_watch *w) {
    bool ping = atomic_load_explicit(&w->ping, memory_order_relaxed) != NULL;
    bool frames = atomic_load_explicit(&w->loop.frames.presented, memory_order_relaxed) != 0;
    return hd_words_scheme(ping ? HD_SCHEME_PING : frames ? HD_SCHEME_FRAME : HD_SCHEME_ACTIVITY);
}

/* Reads the name of the turn's loop, and its scheme: whether Hangdog watches the loop by pings, display
 * frames or activities. Reads nothing if another loop has the slot by now. */
static void read_loop(const struct hd_watch *w, struct hd_turn *turn) {
    if (w->generation != turn->loop.generation) {
        return;
    }
    for (size_t i = 0; i < sizeof turn->loop.name; i++) {
        turn->loop.name[i] = __atomic_load_n(&w->name[i], __ATOMIC_RELAXED);
    }
    uint64_t since_ns = atomic_load_explicit(&w->since_ns, memory_order_relaxed);
    turn->loop.scheme = scheme_of(w);
    hd_turn_add_unseen(turn, since_ns > turn->times.start_ns ? since_ns - turn->times.start_ns : 0);
}

static void read_counters(const struct hd_run *run, const struct hd_probe_context *probe,
                          const struct hd_message *msg, struct hd_turn_baseline *before) {
    before->age_ns = msg->duration_ns;
    before->background_ns = hd_background_until(&run->channel.program.background, msg->at_ns);
    before->process_cpu_ns = msg->process_cpu_ns;
    before->monitor_cpu_ns = msg->cost.cpu_ns;
    before->worker_cpu_ns = hd_os_thread_cpu_ns();
    before->throttled_ns = hd_throttled_ns(probe);
    hd_pressure_read(probe, before->stall_ns);
    before->major_faults = hd_pressure_major_faults(probe, msg->thread);
    before->captures = msg->cost.captures;
}

struct hd_turn *hd_tracking_start(struct hd_turns *turns, const struct hd_run *run,
                                  const struct hd_probe_context *probe, const struct hd_message *msg) {
    struct hd_turn *turn = hd_turns_start(turns, msg->loop, msg->generation);
    if (turn == NULL) {
        return NULL;
    }
    uint64_t now_ns = hd_os_now_ns();
    turn->state = msg->state;
    turn->activity = msg->activity;
    turn->loop.thread = msg->thread;
    turn->loop.start_ticks = msg->start_ticks;
    turn->times.start_ns = msg->at_ns;
    turn->times.start_wall_ns = hd_os_wall_ns() - (now_ns > msg->at_ns ? now_ns - msg->at_ns : 0);
    turn->times.threshold_ns = msg->threshold_ns;
    turn->times.at_least = msg->at_least;
    turn->samples.first = (struct hd_turn_first){
        .known = msg->thread_sched.known, .at_ns = msg->thread_sched.at_ns, .sched = msg->thread_sched.sched};
    read_loop(hd_watch_at(&run->watches, msg->loop), turn);
    read_counters(run, probe, msg, &turn->before);
    return turn;
}

bool hd_tracking_is_over(const struct hd_run *run, const struct hd_turn *turn) {
    struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    return w->generation != turn->loop.generation || !hd_loop_is_in_turn(&w->loop, turn->loop.start_ticks);
}
