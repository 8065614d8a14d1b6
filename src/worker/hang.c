/* SPDX-License-Identifier: MIT
 *
 * The monitor decides when a hang opens and ends. When the worker reads the monitor's message, it may have
 * learned that the turn is no hang, or ended earlier. The worker then ignores the message, or corrects the
 * end. On the worker thread.
 */
#include "worker/hang.h"

#include <string.h>

#include "publish/life.h"
#include "publish/publish.h"
#include "script/tasks.h"
#include "turn/samples.h"
#include "watch/watching.h"
#include "worker/blocked.h"
#include "worker/facts.h"
#include "worker/labels.h"
#include "worker/loop_clock.h"
#include "worker/tracking.h"

/* from this age on, the report of a hang is published without a certain loop, if there is evidence for the
 * loop */
#define FREEZE_NS (5 * HD_NS_PER_S)

void hd_hang_ignore(const struct hd_run *run, struct hd_turn *turn, uint64_t ticks) {
    struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    atomic_store_explicit(&w->loop.found.ignored_turn, ticks, memory_order_relaxed);
    turn->not_a_hang = true;
}

static void capture_threads(struct hd_worker *worker, struct hd_turn *turn) {
    struct hd_threads *threads = &worker->threads;
    const struct hd_sample *newest = &turn->samples.newest;
    hd_thread_id owner = newest->valid ? hd_evidence_awaited_thread(&newest->probe) : HD_THREAD_ID_NONE;
    hd_threads_capture(threads, turn->loop.thread, owner);
    turn->threads.count = threads->count + threads->left_out;
    hd_threads_find_deadlock(threads, turn->loop.thread, &turn->threads);
    struct hd_task_chain task;
    hd_task_chain(&worker->stacks.scripts, hd_stacks_own_tid(&worker->stacks, turn->loop.thread), &task);
    if (!hd_tracking_is_over(worker->run, turn)) { /* else the task may be that of the next turn */
        turn->task = task;
    }
}

static void read_facts(const struct hd_worker *worker, const struct hd_turn *turn, struct hd_facts *facts) {
    hd_facts_take(&worker->threads, &worker->process, facts);
    hd_facts_read_counters(&worker->probe, turn, facts);
}

static void publish(struct hd_worker *worker, struct hd_turn *turn, bool complete) {
    struct hd_facts facts;
    read_facts(worker, turn, &facts);
    hd_publish(&worker->publisher, turn, &facts, complete);
}

/* ---- its start -------------------------------------------------------------------------------- */

/* The turn starts as late as it may have started. */
static void take_start(struct hd_turn *turn, uint64_t earlier_ns) {
    struct hd_turn_times *times = &turn->times;
    uint64_t later_ns = earlier_ns - times->earlier_ns; /* wraps round if the start becomes earlier */
    times->start_ns += later_ns;
    times->start_wall_ns += later_ns;
    turn->samples.age_ns -= turn->samples.age_ns > later_ns || later_ns > INT64_MAX ? later_ns : 0;
    times->earlier_ns = earlier_ns;
}

static void take_message(struct hd_turn *turn, const struct hd_message *msg) {
    take_start(turn, msg->earlier_ns);
    turn->times.duration_ns = msg->duration_ns;
    turn->times.process_cpu_ns = msg->process_cpu_ns;
    turn->times.excluded_ns = msg->excluded_ns;
}

void hd_hang_open(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg) {
    const struct hd_turn_samples *s = &turn->samples;
    turn->state = msg->state;
    turn->activity = hd_activity_is_idle(msg->activity) ? turn->activity : msg->activity;
    turn->times.threshold_ns = msg->threshold_ns;
    take_message(turn, msg);
    /* takes the turn's age at its newest sample as the duration, if that age is larger. It may be, because
     * the monitor reads the duration before it takes the sample. */
    if (s->age_ns > msg->duration_ns) {
        turn->times.duration_ns = s->age_ns;
    }
    bool launch = turn->state == HANGDOG_STATE_LAUNCH;
    if (s->newest.valid && !launch && !turn->not_a_hang &&
        hd_blocked_is_served(worker->run, &worker->probe, turn, &s->newest)) {
        /* another thread serves the loop; earlier checks did not find that thread, because it was busy */
        hd_hang_ignore(worker->run, turn, msg->start_ticks);
    }
    if (turn->not_a_hang) { /* the monitor sent this message before it knew that the turn is not a hang */
        return;
    }
    hd_publish_open(&worker->publisher, turn);
    hd_host_read_process(worker->probe.proc_fd, &worker->process);
    hd_life_store_process(worker->process.debugger);
    capture_threads(worker, turn);
    publish(worker, turn, false);
}

/* ---- while it lasts --------------------------------------------------------------------------- */

/* Publishes the report of a very long hang if there is evidence that the loop is the program's. Does not wait
 * until the loop is certain, because in such a hang the loop may never wait again. Marks the report as due
 * for a write. */
static void publish_freeze(const struct hd_run *run, struct hd_turn *turn) {
    const struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    bool evidence = w->generation == turn->loop.generation &&
                    atomic_load_explicit(&w->loop.found.has_evidence, memory_order_relaxed);
    if (evidence && !turn->report.published && turn->samples.age_ns >= FREEZE_NS) {
        turn->report.published = true;
        turn->report.written_age_ns = turn->samples.age_ns / 2;
    }
}

static void update(struct hd_worker *worker, struct hd_turn *turn) {
    const struct hd_turn_samples *s = &turn->samples;
    turn->times.duration_ns = s->age_ns;
    turn->times.process_cpu_ns = hd_host_process_cpu_ns(&worker->probe);
    bool waits_for_thread = s->same && !hd_thread_id_is_none(hd_evidence_awaited_thread(&s->newest.probe));
    /* if another thread blocks the turn's thread, captures all threads again, because they may have formed a
     * deadlock by now */
    if (waits_for_thread && turn->threads.deadlock_count == 0) {
        capture_threads(worker, turn);
    }
    publish(worker, turn, false);
}

void hd_hang_update_all(struct hd_worker *worker) {
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        struct hd_turn *turn = &worker->turns.turn[i];
        if (!turn->used || !turn->report.opened) {
            continue;
        }
        publish_freeze(worker->run, turn);
        if (turn->samples.age_ns >= 2 * turn->report.written_age_ns) {
            update(worker, turn);
        }
    }
}

/* ---- its end ---------------------------------------------------------------------------------- */

/* True: the program ends, the report is still deferred, and no loop of this thread is known. The thread's
 * turn counts as a launch, but the thread was not launching: the program's loops are in other threads. */
static bool ends_without_loop(const struct hd_run *run, const struct hd_turn *turn) {
    const struct hd_loop *loop = &hd_watch_at(&run->watches, turn->loop.slot)->loop;
    return run->settings.deferred && !turn->report.published && turn->state == HANGDOG_STATE_LAUNCH &&
           atomic_load_explicit(&run->channel.stop.requested, memory_order_relaxed) &&
           atomic_load_explicit(&loop->found.launched, memory_order_relaxed) == 0 &&
           !atomic_load_explicit(&loop->found.has_evidence, memory_order_relaxed);
}

/* True: the turn counts as a launch, but has lasted for more than launch_known_ns (0: no limit). So the
 * program was working before it had a loop, and was not launching. */
static bool known_too_late(const struct hd_run *run, const struct hd_turn *turn) {
    uint64_t limit_ns = run->settings.launch_known_ns;
    return limit_ns != 0 && turn->state == HANGDOG_STATE_LAUNCH &&
           hd_os_now_ns() - turn->times.start_ns > limit_ns;
}

/* True: the launch is long only because the thread waited for what the user typed. */
static bool waited_for_user(const struct hd_turn *turn) {
    return turn->state == HANGDOG_STATE_LAUNCH &&
           turn->times.duration_ns < turn->times.threshold_ns + turn->samples.typed_ns;
}

/* True: the turn is that of a thread that the user named (--thread), before its loop is known. Only the main
 * thread launches the program. */
static bool is_no_programs_launch(const struct hd_run *run, const struct hd_turn *turn) {
    return run->settings.deferred && turn->state == HANGDOG_STATE_LAUNCH &&
           strcmp(turn->loop.name, HD_MAIN_LOOP) != 0;
}

/* Returns the time when the turn ended: the time in the message, or an earlier one. While the message was on
 * its way, the recogniser may have found that an earlier wait was the loop's own. The turn then ended at the
 * start of that wait. A launch then ended at the start of the loop's first wait. In two cases, a turn that is
 * no launch ended at the time in the message. Either the process was stopped during the turn, or another hang
 * may have followed the earlier wait. */
static uint64_t end_of(const struct hd_run *run, const struct hd_turn *turn, const struct hd_message *msg) {
    const struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    const struct hd_loop *loop = &w->loop;
    if (w->generation != turn->loop.generation) { /* another loop has this slot by now */
        return msg->at_ns;
    }
    bool launch = turn->state == HANGDOG_STATE_LAUNCH;
    uint64_t launched = launch ? atomic_load_explicit(&loop->found.launched, memory_order_acquire) : 0;
    uint64_t to_ns =
        hd_loop_clock_of(loop, atomic_load_explicit(&loop->found.waited_to, memory_order_acquire));
    uint64_t from_ns =
        hd_loop_clock_of(loop, atomic_load_explicit(&loop->found.waited_from, memory_order_relaxed));
    bool nothing_followed = to_ns < msg->at_ns && msg->at_ns - to_ns < turn->times.threshold_ns;
    if (launched != 0) {
        from_ns = hd_loop_clock_of(loop, launched);
    } else if (!nothing_followed || msg->excluded_ns != 0) {
        return msg->at_ns;
    }
    return from_ns > turn->times.start_ns && from_ns < msg->at_ns ? from_ns : msg->at_ns;
}

void hd_hang_end(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg) {
    const struct hd_run *run = worker->run;
    uint64_t end_ns = end_of(run, turn, msg), early_ns = msg->at_ns - end_ns;
    uint64_t seen_ns = turn->samples.newest.valid ? turn->samples.newest.at_ns : turn->times.start_ns;
    hd_labels_read(run, turn, msg->start_ticks, end_ns, end_ns > seen_ns ? end_ns - seen_ns : 0);
    hd_samples_settle(turn, end_ns, msg->excluded_ns,
                      msg->thread_sched.known ? &msg->thread_sched.sched : NULL);
    take_message(turn, msg);
    turn->times.duration_ns -= early_ns < msg->duration_ns ? early_ns : msg->duration_ns;
    turn->times.process_cpu_ns = early_ns == 0 ? msg->process_cpu_ns : 0;
    bool is_hang = !turn->not_a_hang && turn->times.duration_ns >= turn->times.threshold_ns &&
                   !ends_without_loop(run, turn) && !known_too_late(run, turn) && !waited_for_user(turn) &&
                   !is_no_programs_launch(run, turn);
    if (turn->report.opened && is_hang) {
        publish(worker, turn, true);
    } else if (turn->report.opened) {
        hd_publish_withdraw(&worker->publisher, turn);
    }
    hd_turn_free(turn);
}

/* If settings.deferred is set, writes the report only if the loop is certain, because reports of long display
 * frames are never deferred. */
void hd_hang_frame(struct hd_worker *worker, struct hd_turn *turn, const struct hd_message *msg) {
    const struct hd_settings *settings = &worker->run->settings;
    bool certain = hd_publish_is_certain(worker->run, turn);
    hd_samples_settle(turn, msg->at_ns, msg->excluded_ns,
                      msg->thread_sched.known ? &msg->thread_sched.sched : NULL);
    take_message(turn, msg);
    turn->times.threshold_ns = settings->frame_drop_ns;
    if (!turn->not_a_hang && (certain || !settings->deferred)) {
        struct hd_facts facts;
        hd_publish_open(&worker->publisher, turn);
        hd_host_read_process(worker->probe.proc_fd, &worker->process);
        read_facts(worker, turn, &facts);
        hd_publish_frame(&worker->publisher, turn, &facts);
    }
    hd_turn_free(turn);
}
