/* SPDX-License-Identifier: MIT
 *
 * One loop, one look: what has become of its turn, what is done about it, what the worker is told. Monitor:
 * no allocation, never waits for anybody.
 */
#include "monitor/look.h"

#include "monitor/sampling.h"
#include "monitor/totals.h"

/* In the library: whoever finds its process dead reads how long the hang lasted. One store: a page of a file
 * outlives the process. */
static void keep_note(const struct hd_watch *w, uint64_t duration_ns) {
    _Atomic uint64_t *note = atomic_load_explicit(&w->note, memory_order_acquire);
    if (note != NULL &&
        atomic_load_explicit(&w->note_start_ns, memory_order_relaxed) == w->look.turn.turn_ns) {
        atomic_store_explicit(note, duration_ns, memory_order_relaxed);
    }
}

/* ---- one loop, one look --------------------------------------------------------------------- */

static hangdog_state state_of(const struct hd_monitor *m, const struct hd_watch *w) {
    if (!w->look.launched) {
        return HANGDOG_STATE_LAUNCH;
    }
    if (atomic_load_explicit(&m->run->record->runner.quits, memory_order_relaxed) != 0) {
        return HANGDOG_STATE_QUIT;
    }
    uint32_t state = atomic_load_explicit(&m->run->channel.state, memory_order_relaxed);
    return state == HANGDOG_STATE_LAUNCH || state >= HANGDOG_STATES ? HANGDOG_STATE_FOREGROUND
                                                                    : (hangdog_state)state;
}

static struct hd_limits limits_of(const struct hd_monitor *m, const struct hd_watch *w, hangdog_state state) {
    struct hd_limits limits = {.interval_ns = m->run->settings.interval_ns,
                               .sample_ns =
                                   m->run->settings.interval_ns * (m->budget.over ? HD_BUDGET_SPREAD : 1),
                               .threshold_ns = hd_threshold_of(&m->run->settings, w, state)};
    if (state == HANGDOG_STATE_LAUNCH) {
        limits.sample_until_ns = m->run->settings.sample_launch_ns;
    } else if (atomic_load_explicit(&w->loop.frames.presented, memory_order_relaxed) != 0) {
        limits.frame_ns = m->run->settings.frame_drop_ns;
    }
    return limits;
}

/* Asks the loop to tell when this turn ends. False when it has ended meanwhile. */
static bool track(struct hd_watch *w, uint64_t turn) {
    struct hd_loop_view view;
    w->look.tracked_turn = turn;
    atomic_fetch_or_explicit(&w->loop.flags, HD_FLAG_TRACKED, memory_order_seq_cst);
    hd_loop_view(&w->loop, &view);
    if (view.running && view.turn_ticks == turn) {
        return true;
    }
    hd_untrack(w);
    return false;
}

/* The thread is in a wait that turned out to be idle after it had begun; *since: when, in ticks. */
static bool waits_after_all(const struct hd_watch *w, uint64_t *since) {
    const _Atomic uint8_t *waiting = atomic_load_explicit(&w->loop.waiting, memory_order_acquire);
    if (waiting == NULL || atomic_load_explicit(waiting, memory_order_acquire) != HD_WAIT_IDLE) {
        return false;
    }
    *since = atomic_load_explicit(&w->loop.waiting_since, memory_order_acquire);
    return atomic_load_explicit(&w->loop.waiting, memory_order_relaxed) == waiting;
}

/* A turn in which the program gave or lent its terminal to a child: whom it should answer talks to that. Or
 * the thread waits for its turn at the loop, which another one serves. */
static bool is_ignored(const struct hd_watch *w, const struct hd_loop_view *view) {
    uint64_t ignored = atomic_load_explicit(&w->loop.ignored_turn, memory_order_relaxed);
    return ignored != 0 && ignored == view->turn_ticks;
}

/* Idle, or not to be watched now. */
static bool counts_as_idle(const struct hd_monitor *m, const struct hd_watch *w,
                           const struct hd_loop_view *view) {
    return !view->running || atomic_load_explicit(&w->loop.expected, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&m->run->channel.paused, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&w->loop.lost, memory_order_relaxed) || is_ignored(w, view);
}

static void note_launch(struct hd_monitor *m, struct hd_watch *w, uint64_t idle_ns) {
    uint64_t none = 0;
    w->look.launched = true;
    atomic_compare_exchange_strong(&m->run->record->turns.launch_ns, &none,
                                   idle_ns - m->run->record->options.started_ns);
}

/* The loop was in a wait that was known for its own only afterwards: the turn that goes on began when that
 * ended, and the one that is followed ended when it began. */
static void note_wait(const struct hd_monitor *m, struct hd_watch *w, struct hd_look *look) {
    uint64_t to = atomic_load_explicit(&w->loop.waited_to, memory_order_acquire);
    if (to == w->look.waited) {
        return;
    }
    w->look.waited = to;
    uint64_t to_ns = hd_ticks_to_clock(m, to);
    uint64_t from_ns = hd_ticks_to_clock(m, atomic_load_explicit(&w->loop.waited_from, memory_order_relaxed));
    w->look.floor_ns = to_ns > w->look.floor_ns ? to_ns : w->look.floor_ns;
    if (w->look.turn.state != HD_TURN_IDLE && from_ns >= w->look.turn.turn_ns && !look->ended_known) {
        look->ended_known = true;
        look->ended_ns = from_ns;
    }
}

/* What the recogniser has found out since the last look: when the launch ended, that another loop is the
 * loop. */
static void look_back(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, struct hd_look *look) {
    uint64_t launched = atomic_load_explicit(&w->loop.launched, memory_order_acquire);
    uint32_t changes = atomic_load_explicit(&w->loop.changes, memory_order_acquire);
    uint64_t resumed = atomic_load_explicit(&w->loop.resumed, memory_order_acquire);
    bool launches = !w->look.launched && launched != 0;
    if (launches || changes != w->look.changes || resumed != w->look.resumed) {
        w->look.floor_ns = resumed != 0 ? hd_ticks_to_clock(m, resumed) : now_ns;
        look->void_turn |= !launches;
        w->look.resumed = resumed;
        w->look.changes = changes;
    }
    if (launches) {
        look->ended_known = true;
        look->ended_ns = hd_ticks_to_clock(m, launched);
        note_launch(m, w, look->ended_ns);
    }
    note_wait(m, w, look);
}

/* When the turn began that ended last, in ticks. */
static uint64_t last_turn(const struct hd_watch *w, const struct hd_loop_view *idle) {
    return (idle->word >> HD_ACTIVITY_BITS) -
           atomic_load_explicit(&w->loop.pending_ticks, memory_order_relaxed);
}

static void fill_look(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, struct hd_look *look) {
    struct hd_loop_view view;
    uint64_t since = 0; /* gcc at -O2 does not see that it is set where it is read */
    hd_loop_view(&w->loop, &view);
    bool waits = waits_after_all(w, &since);
    uint64_t turn = view.running ? view.turn_ticks : last_turn(w, &view);
    *look =
        (struct hd_look){.now_ns = now_ns,
                         .running = !waits && !counts_as_idle(m, w, &view),
                         .turn = turn,
                         .turn_ns = hd_ticks_to_clock(m, turn),
                         .ended_ns = view.running ? 0 : hd_ticks_to_clock(m, view.word >> HD_ACTIVITY_BITS),
                         .changed_ns = atomic_load_explicit(&w->changed_ns, memory_order_relaxed)};
    look->void_turn = is_ignored(w, &view);
    look_back(m, w, now_ns, look);
    look->turn_ns = look->turn_ns > m->resumed_ns ? look->turn_ns : m->resumed_ns;
    look->turn_ns = look->turn_ns > w->look.floor_ns ? look->turn_ns : w->look.floor_ns;
    bool meant =
        atomic_load_explicit(&w->loop.expected, memory_order_relaxed) != 0; /* no wait of the loop's */
    if (!w->look.launched && !meant && (!view.running || view.activity == HANGDOG_AFTER_WAITING)) {
        note_launch(m, w, hd_ticks_to_clock(m, view.word >> HD_ACTIVITY_BITS));
    }
    if (w->look.tracked_turn != 0 &&
        (atomic_load_explicit(&w->loop.flags, memory_order_seq_cst) & HD_FLAG_TRACKED) == 0) {
        uint64_t end_ns =
            hd_ticks_to_clock(m, atomic_load_explicit(&w->loop.tracked_end, memory_order_relaxed));
        look->ended_ns = look->ended_known && look->ended_ns < end_ns ? look->ended_ns : end_ns;
        look->ended_known = true;
        w->look.tracked_turn = 0;
    } else if (w->look.tracked_turn != 0 && !view.running) {
        look->ended_known = true; /* it ended in the instant in which it was asked to tell: its word does */
        look->ended_ns = hd_ticks_to_clock(m, view.word >> HD_ACTIVITY_BITS);
    } else if (w->look.turn.state == HD_TURN_RUNNING && !view.running && turn == w->look.turn.turn) {
        look->ended_known = true; /* so late are we that it was to be tracked, and is over */
    } else if (waits && view.running && !look->ended_known) {
        look->ended_known = true; /* its turn ended when it began to wait */
        look->ended_ns = hd_ticks_to_clock(m, since);
    }
}

uint64_t hd_monitor_own_delay(struct hd_monitor *m) {
    struct hd_sched now;
    struct hd_target own = {.schedstat_fd = m->own_schedstat_fd, .status_fd = -1};
    if (hd_capture_sched(&own, &now) != 0) {
        return 0;
    }
    uint64_t delay_ns = now.delay_ns - m->own_sched.delay_ns;
    m->own_sched = now;
    return delay_ns;
}

static void read_sched(struct hd_watch *w) {
    w->look.sched_valid = hd_capture_sched(&w->look.target, &w->look.sched) == 0;
    if (w->look.sched_valid) {
        hd_capture_sched_now(&w->look.target, &w->look.sched);
    }
}

/* Time in which nothing of the process could run: a stop, a frozen cgroup, a breakpoint. Only lateness that
 * neither our own wait for a processor nor the watched thread's running accounts for. What that thread did
 * is known where the last look found it running; of a turn that began since then, ours is what there is. */
static uint64_t excluded(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, uint64_t late_ns,
                         uint64_t own_delay_ns) {
    struct hd_sched before = w->look.sched;
    bool known = w->look.sched_valid;
    bool followed = w->look.turn.state != HD_TURN_IDLE;
    bool rests = known && w->look.blocked && late_ns <= HD_LATE_NS &&
                 hd_capture_rests(&w->look.target, &w->look.sched);
    if (!rests) {
        read_sched(w);
    }
    if (late_ns <= own_delay_ns + HD_LATE_NS || !w->look.sched_valid || (followed && !known)) {
        return 0;
    }
    if (!followed) {
        return late_ns - own_delay_ns;
    }
    uint64_t ran_ns = (w->look.sched.cpu_ns - before.cpu_ns) + (w->look.sched.delay_ns - before.delay_ns);
    uint64_t window_ns = now_ns - m->looked_ns;
    uint64_t explained_ns = own_delay_ns > ran_ns ? own_delay_ns : ran_ns;
    if (window_ns <= explained_ns || window_ns - explained_ns <= HD_LATE_NS) {
        return 0;
    }
    if (ran_ns > HD_NS_PER_MS) {
        return window_ns - explained_ns; /* it ran until the stop: exact */
    }
    uint64_t half_ns =
        (window_ns - late_ns) / 2; /* a blocked one: the stop began somewhere between two looks */
    return late_ns - own_delay_ns + half_ns;
}

/* What is the most is told of one turn, where sums are told by their growth. */
static void begin_turn(struct hd_watch *w, uint64_t now_ns, uint64_t late_ns) {
    uint64_t *most = &w->look.target.cost.pause_max_ns;
    w->look.pause_max_ns = *most > w->look.pause_max_ns ? *most : w->look.pause_max_ns;
    *most = 0;
    w->look.late_max_ns = late_ns;
    w->look.begun_turn = w->look.turn.turn;
    w->look.begun = w->look.sched;
    w->look.begun_ns = now_ns;
    w->look.begun_valid = w->look.sched_valid;
}

/* A turn has begun and ended since the last look, and was a hang: nobody sampled it, and it is only counted.
 * We waited for a processor meanwhile; else the process was stopped, and for how much of it nobody knows. */
static void count_missed(struct hd_monitor *m, const struct hd_watch *w, const struct hd_look *look,
                         uint64_t threshold_ns, uint64_t own_delay_ns) {
    uint64_t took_ns = look->ended_ns - look->turn_ns;
    bool sure = !m->run->settings.deferred || atomic_load_explicit(&w->loop.sure, memory_order_relaxed);
    if (sure && !m->was_paused && look->turn_ns > m->looked_ns &&
        look->ended_ns >= look->turn_ns + threshold_ns &&
        own_delay_ns + hd_monitor_own_delay(m) > took_ns / 2) {
        hd_record_add_unreported(m->run->record, took_ns);
    }
}

bool hd_look_at(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, uint64_t late_ns,
                uint64_t own_delay_ns) {
    struct hd_look look;
    struct hd_limits limits;
    uint64_t excluded_ns = 0; /* also from a turn that the next one in this look finds begun */
    bool first = true;
    w->look.late_max_ns = late_ns > w->look.late_max_ns ? late_ns : w->look.late_max_ns;
    do {
        hangdog_state state =
            state_of(m, w); /* of the turn that is looked at: before the look may end its launch */
        limits = limits_of(m, w, state);
        fill_look(m, w, now_ns, &look);
        if (!look.running && w->look.turn.state == HD_TURN_IDLE) {
            if (first) {
                count_missed(m, w, &look, limits.threshold_ns, own_delay_ns);
            }
            return false;
        }
        if (first) {
            struct hd_sched before = w->look.sched;
            bool known = w->look.sched_valid;
            excluded_ns = excluded(m, w, now_ns, late_ns, own_delay_ns);
            look.moved = w->look.blocked && known && w->look.sched.slices != before.slices;
        }
        first = false;
        look.excluded_ns = excluded_ns;
        bool anew = w->look.turn.state == HD_TURN_IDLE; /* also a turn that was looked at before a pause */
        unsigned actions = hd_turn_state_step(&w->look.turn, &look, &limits);
        if (w->look.turn.state != HD_TURN_IDLE && (anew || w->look.begun_turn != w->look.turn.turn)) {
            begin_turn(w, hd_os_now_ns(), late_ns);
        }
        if ((actions & HD_ACT_TRACK) != 0 && !track(w, look.turn)) {
            w->look.turn.state = HD_TURN_IDLE; /* over before it could be tracked: nothing was told yet */
            continue;
        }
        w->look.state = w->look.turn.state != HD_TURN_IDLE ? state : w->look.state;
        hd_sampling_act(m, w, &look, actions);
    } while (w->look.turn.state == HD_TURN_IDLE && look.running);
    if (w->look.turn.state == HD_TURN_HANGING && m->run->record != NULL &&
        atomic_load_explicit(&m->run->channel.open_loop, memory_order_relaxed) == w->index &&
        atomic_load_explicit(&m->run->channel.open_start_ns, memory_order_relaxed) == w->look.turn.turn_ns) {
        atomic_store_explicit(&m->run->record->open.since_ns, w->look.turn.turn_ns + w->look.turn.excluded_ns,
                              memory_order_relaxed);
        atomic_store_explicit(&m->run->record->open.duration_ns, hd_turn_state_age(&w->look.turn, now_ns),
                              memory_order_relaxed);
        atomic_store_explicit(&m->run->record->status.alive_ns, now_ns, memory_order_relaxed);
    }
    if (w->look.turn.state == HD_TURN_HANGING) {
        keep_note(w, hd_turn_state_age(&w->look.turn, now_ns));
    }
    w->look.next_ns = hd_turn_state_next_ns(&w->look.turn, hd_os_now_ns(), m->look_ns, &limits);
    return w->look.turn.state != HD_TURN_IDLE;
}

/* ---- coming and going ----------------------------------------------------------------------- */

void hd_look_often_enough(struct hd_monitor *m, const struct hd_watch *w) {
    uint64_t least_ns = w->threshold_ns - 1; /* more than any, where it has none of its own */
    for (unsigned state = 0; state < HANGDOG_STATES; state++) {
        uint64_t ns = m->run->settings.threshold_ns[state];
        least_ns = ns < least_ns ? ns : least_ns;
    }
    least_ns = least_ns < m->run->settings.threshold_max_ns ? least_ns : m->run->settings.threshold_max_ns;
    uint64_t frame_ns = m->run->settings.frame_drop_ns - 1; /* 0: more than any */
    least_ns = least_ns < frame_ns ? least_ns : frame_ns;
    least_ns = least_ns > 2 * HD_NS_PER_MS ? least_ns / 2 : HD_NS_PER_MS;
    m->look_ns = least_ns < m->look_ns ? least_ns : m->look_ns;
}

void hd_monitor_open_watch(struct hd_monitor *m, struct hd_watch *w) {
    w->look.target =
        (struct hd_target){.mailbox = w->mailbox, .watched = true, .signal = m->run->settings.signal};
    w->look.turn = (struct hd_turn_state){0};
    w->look.sched_valid = w->look.blocked = w->look.certain_sent = w->look.followed = false;
    /* a loop that is watched when the program has launched is not its launch; which loop that is, the preload
     * finds out */
    w->look.launched = !m->run->settings.deferred &&
                       atomic_load_explicit(&m->run->record->turns.launch_ns, memory_order_relaxed) != 0;
    hd_look_often_enough(m, w);
    w->look.stack_bytes = 0;
    w->look.pause_max_ns = 0;
    w->look.tracked_turn = w->look.floor_ns = w->look.resumed = w->look.waited = w->look.changes = 0;
    w->look.busy_ns = w->look.idle_ns = w->look.summed_ticks = w->look.last_busy_ns = 0;
    w->look.stopped_ns = atomic_load_explicit(&m->run->record->runner.stopped_ns, memory_order_relaxed);
    w->look.summed_ns = hd_ticks_to_clock(m, w->loop.started_ticks);
    atomic_store_explicit(&w->loop.ns_per_tick_32, m->run->clock.ns_per_tick_32, memory_order_relaxed);
    atomic_store_explicit(&w->changed_ns, 0, memory_order_relaxed);
    hd_target_open(&w->look.target,
                   hd_loop_thread(&w->loop)); /* what could not be opened shows in the captures */
    uint32_t still_new = HD_WATCH_NEW; /* else its thread leaves already, and waits for that to be seen */
    if (atomic_compare_exchange_strong(&w->use, &still_new, HD_WATCH_ON)) {
        hd_sampling_take(m, w, HD_MSG_DRY);
        hd_capture_late_forget(&w->look.target);
    }
}

void hd_monitor_close_watch(struct hd_monitor *m, struct hd_watch *w) {
    if (w->look.turn.state == HD_TURN_HANGING || w->look.turn.state == HD_TURN_TRACKED) {
        hangdog_state state = state_of(m, w);
        struct hd_limits limits = limits_of(m, w, state);
        struct hd_look look;
        fill_look(m, w, hd_os_now_ns(), &look);
        look.running = false;
        w->look.turn.frame_ns = 0; /* no frame ends it: the program leaves */
        struct hd_sched looked = w->look.sched;
        bool known = w->look.sched_valid;
        read_sched(w);              /* it ran on since the last look */
        if (!w->look.sched_valid) { /* and has ended */
            w->look.sched = looked;
            w->look.sched_valid = known;
        }
        hd_sampling_act(m, w, &look, hd_turn_state_step(&w->look.turn, &look, &limits));
    }
    atomic_store_explicit(&w->loop.flags, 0,
                          memory_order_seq_cst); /* its thread makes no call for us any more */
    if (w->look.target.watched) {                /* else it goes before it was opened */
        hd_totals_add(m, &m->ended, w);
        hd_target_close(&w->look.target);
    }
    if (w->mailbox != NULL) {
        hd_capture_thread_closed(w->mailbox);
        w->mailbox = NULL;
    }
    atomic_store_explicit(&w->use, HD_WATCH_FREE, memory_order_release);
    hd_os.futex_wake((uint32_t *)&w->use, 1, false);
}

void hd_look_send_certain(struct hd_monitor *m, struct hd_watch *w) {
    bool sure = atomic_load_explicit(&w->loop.sure, memory_order_relaxed);
    struct hd_message message = {.type = HD_MSG_SURE, .loop = w->index, .generation = w->generation};
    w->look.certain_sent = sure && (w->look.certain_sent || hd_monitor_send(m, &message));
}
