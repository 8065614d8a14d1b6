/* SPDX-License-Identifier: MIT
 *
 * The monitor thread: keeps the time, looks, captures, and tells the worker. It touches no file but kept
 * /proc descriptors and never waits for anybody. No allocation.
 */
#include "monitor/monitor.h"

#include <errno.h>

#define LATE_NS (100 * HD_NS_PER_MS) /* a look later than this asks why */
#define TICK_JUMP_NS \
    (1 * HD_NS_PER_MS) /* the counter and the clock disagree by more: its stamps are worth nothing */
#define TELL_SAME_NS (5 * HD_NS_PER_S)    /* a proven stack is no news: the worker is not woken for each */
#define UNREAD_LATE_NS (5 * HD_NS_PER_MS) /* own figures older than so much lateness are read anew */
#define PUBLISH_NS \
    (1 * HD_NS_PER_S) /* how old the record's figures may be: each time touches much cold memory */
#define NOT_READ (UINT64_MAX / 2)
#define FILTERED_LOOK_NS (250 * HD_NS_PER_MS) /* of idle loops that may not wake us */
#define FOR_EVER UINT64_MAX

void hd_monitor_wake(struct hd_monitor *m) {
    atomic_fetch_add_explicit(&m->wake, 1, memory_order_seq_cst);
    hd_os.futex_wake((uint32_t *)&m->wake, 1, false);
}

/* Slots that have ever been in use: the others' memory is left cold. */
static unsigned slots(const struct hd_monitor *m) {
    return atomic_load_explicit(&m->slots, memory_order_acquire);
}

/* Loops are not asked for anything: their threads' calls may kill. */
static bool is_filtered(const struct hd_monitor *m) {
    return atomic_load_explicit(&m->filter, memory_order_relaxed) == HD_FILTER_THERE;
}

/* ---- clock ---------------------------------------------------------------------------------- */

static uint64_t ticks_now(const struct hd_monitor *m) {
    return m->ticks_are_tsc ? hd_ticks_read() : hd_os_now_ns();
}

static uint64_t ticks_to_clock(const struct hd_monitor *m, uint64_t ticks) {
    if (ticks <= m->anchor_ticks) {
        return m->anchor_ns - hd_ticks_to_ns(m->anchor_ticks - ticks, m->ns_per_tick_32);
    }
    return m->anchor_ns + hd_ticks_to_ns(ticks - m->anchor_ticks, m->ns_per_tick_32);
}

/* Pairs the counter with the clock anew. The rate is measured over the time since the first pair, so it only
 * gets better. */
static void anchor(struct hd_monitor *m, uint64_t *now_ns) {
    uint64_t ticks = ticks_now(m);
    *now_ns = hd_os_now_ns();
    if (!m->ticks_are_tsc) {
        m->anchor_ticks = m->anchor_ns = *now_ns;
        return;
    }
    uint64_t since_ticks = ticks - m->anchor_ticks;
    uint64_t since_ns = *now_ns - m->anchor_ns;
    uint64_t told = hd_ticks_to_ns(since_ticks, m->ns_per_tick_32);
    uint64_t off = told > since_ns ? told - since_ns : since_ns - told;
    if (since_ns >= 20 * HD_NS_PER_MS && off < since_ns / 64 + TICK_JUMP_NS) {
        uint64_t rate = (uint64_t)(((unsigned __int128)since_ns << 32) / since_ticks);
        m->ns_per_tick_32 = rate;
        for (unsigned i = 0, n = slots(m); i < n; i++) {
            if (atomic_load_explicit(&m->watch[i].use, memory_order_acquire) == HD_WATCH_ON) {
                atomic_store_explicit(&m->watch[i].loop.ns_per_tick_32, rate, memory_order_relaxed);
            }
        }
    }
    m->anchor_ticks = ticks;
    m->anchor_ns = *now_ns;
}

/* ---- telling the worker --------------------------------------------------------------------- */

static void tell_worker(struct hd_monitor *m) {
    m->told_ns = m->anchor_ns;
    atomic_fetch_add_explicit(&m->worker_wake, 1, memory_order_seq_cst);
    hd_os.futex_wake((uint32_t *)&m->worker_wake, 1, false);
}

/* The worker reads nothing that the monitor writes but what it is told. */
static void add_figures(const struct hd_monitor *m, struct hd_message *message) {
    message->cost = m->watch[message->loop].target.cost;
    message->cpu_ns = hd_os_thread_cpu_ns();
    message->late_max_ns = m->late_max_ns;
}

static void tell(struct hd_monitor *m, const struct hd_message *message) {
    struct hd_message *room = hd_ring_reserve(&m->ring, sizeof *room, 0);
    if (room != NULL) {
        *room = *message;
        add_figures(m, room);
        hd_ring_commit(&m->ring, sizeof *room);
    }
    tell_worker(m);
}

/* One capture, taken straight into the ring. */
static void sample(struct hd_monitor *m, struct hd_watch *w, enum hd_message_type type) {
    struct hd_message *head = hd_ring_reserve(
        &m->ring, (uint32_t)(sizeof *head + sizeof(struct hd_capture)) + HD_STACK_BYTES_MAX, HD_RING_RESERVE);
    if (head == NULL) {
        return; /* the worker is behind: this sample's time goes to the one before */
    }
    struct hd_capture *capture = (struct hd_capture *)(void *)(head + 1);
    if (hd_capture_take(&w->target, (uint8_t *)(capture + 1), capture) != 0) {
        return; /* nothing is committed */
    }
    *head = (struct hd_message){.type = (uint8_t)type,
                                .loop = (uint8_t)(w - m->watch),
                                .generation = w->generation,
                                .at_ns = capture->at_ns,
                                .excluded_ns = w->life.excluded_ns};
    add_figures(m, head);
    w->blocked = capture->way == HD_WAY_FROZEN;
    w->sched = capture->sched;
    w->sched_valid = true;
    hd_ring_commit(&m->ring, (uint32_t)(sizeof *head + sizeof *capture) + capture->stack_bytes);
    if (!capture->same || m->anchor_ns - m->told_ns >= TELL_SAME_NS) {
        tell_worker(m);
    }
}

/* ---- one loop, one look --------------------------------------------------------------------- */

static hangdog_state state_of(const struct hd_monitor *m, const struct hd_watch *w) {
    if (!w->launched) {
        return HANGDOG_STATE_LAUNCH;
    }
    uint32_t told = atomic_load_explicit(&m->state, memory_order_relaxed);
    return told == HANGDOG_STATE_LAUNCH || told >= HANGDOG_STATES ? HANGDOG_STATE_FOREGROUND
                                                                  : (hangdog_state)told;
}

static struct hd_limits limits_of(const struct hd_monitor *m, const struct hd_watch *w, hangdog_state state) {
    struct hd_limits limits = {.interval_ns = m->settings.interval_ns,
                               .threshold_ns = m->settings.threshold_ns[state]};
    if (state == HANGDOG_STATE_FOREGROUND && w->threshold_ns != 0) {
        limits.threshold_ns = w->threshold_ns;
    }
    if (state == HANGDOG_STATE_LAUNCH) {
        limits.sample_until_ns = m->settings.sample_launch_ns;
    }
    return limits;
}

static void untrack(struct hd_watch *w) {
    atomic_fetch_and_explicit(&w->loop.flags, ~HD_FLAG_TRACKED, memory_order_seq_cst);
    w->tracked_turn = 0;
}

/* Asks the loop to tell when this turn ends. False when it has ended meanwhile. */
static bool track(const struct hd_monitor *m, struct hd_watch *w, uint64_t turn) {
    struct hd_loop_view view;
    w->tracked_turn = turn;
    if (is_filtered(m)) {
        return true;
    }
    atomic_fetch_or_explicit(&w->loop.flags, HD_FLAG_TRACKED, memory_order_seq_cst);
    hd_loop_view(&w->loop, &view);
    if (view.running && view.turn_ticks == turn) {
        return true;
    }
    untrack(w);
    return false;
}

/* The thread is in a wait that turned out to be idle after it had begun; *since: when, in ticks. */
static bool waits_after_all(const struct hd_watch *w, uint64_t *since) {
    const _Atomic uint8_t *waiting = atomic_load_explicit(&w->loop.waiting, memory_order_acquire);
    if (waiting == NULL || atomic_load_explicit(waiting, memory_order_acquire) != HD_WAIT_IDLE) {
        return false;
    }
    *since = atomic_load_explicit(&w->loop.waiting_since, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&w->loop.waiting, memory_order_relaxed) == waiting;
}

/* Idle, or not to be watched now. */
static bool counts_as_idle(const struct hd_monitor *m, const struct hd_watch *w,
                           const struct hd_loop_view *view) {
    return !view->running || atomic_load_explicit(&w->loop.expected, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&m->paused, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&w->loop.lost, memory_order_relaxed);
}

static void note_launch(struct hd_monitor *m, struct hd_watch *w, uint64_t idle_ns) {
    uint64_t none = 0;
    w->launched = true;
    atomic_compare_exchange_strong(&m->record->launch_ns, &none, idle_ns - m->record->options.started_ns);
}

/* What the recogniser has found out since the last look: when the launch ended, that another loop is the
 * loop. */
static void look_back(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, struct hd_look *look) {
    uint64_t launched = atomic_load_explicit(&w->loop.launched, memory_order_acquire);
    uint32_t changes = atomic_load_explicit(&w->loop.changes, memory_order_acquire);
    bool launches = !w->launched && launched != 0;
    if (launches || changes != w->changes) {
        uint64_t resumed = atomic_load_explicit(&w->loop.resumed, memory_order_relaxed);
        w->floor_ns = resumed != 0 ? ticks_to_clock(m, resumed) : now_ns;
    }
    if (launches) {
        look->ended_known = true;
        look->ended_ns = ticks_to_clock(m, launched);
        note_launch(m, w, look->ended_ns);
    }
    if (changes != w->changes) {
        w->changes = changes;
        look->void_turn = true;
    }
}

static void fill_look(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, struct hd_look *look) {
    struct hd_loop_view view;
    uint64_t since;
    hd_loop_view(&w->loop, &view);
    bool waits = waits_after_all(w, &since);
    *look = (struct hd_look){.now_ns = now_ns,
                             .running = !waits && !counts_as_idle(m, w, &view),
                             .turn = view.turn_ticks,
                             .turn_ns = ticks_to_clock(m, view.turn_ticks),
                             .changed_ns = atomic_load_explicit(&w->changed_ns, memory_order_relaxed)};
    look_back(m, w, now_ns, look);
    look->turn_ns = look->turn_ns > m->resumed_ns ? look->turn_ns : m->resumed_ns;
    look->turn_ns = look->turn_ns > w->floor_ns ? look->turn_ns : w->floor_ns;
    if (!w->launched && (!view.running || view.activity == HANGDOG_AFTER_WAITING)) {
        note_launch(m, w, ticks_to_clock(m, view.word >> HD_ACTIVITY_BITS));
    }
    if (w->tracked_turn != 0 && is_filtered(m)) {
        bool over = !view.running || view.turn_ticks != w->tracked_turn;
        look->ended_known =
            look->ended_known || over; /* if the next has begun: at its begin, at the latest */
        look->ended_ns =
            over ? ticks_to_clock(m, view.running ? view.turn_ticks : view.word >> HD_ACTIVITY_BITS)
                 : look->ended_ns;
        w->tracked_turn = over ? 0 : w->tracked_turn;
    } else if (w->tracked_turn != 0 &&
               (atomic_load_explicit(&w->loop.flags, memory_order_seq_cst) & HD_FLAG_TRACKED) == 0) {
        look->ended_known = true;
        look->ended_ns = ticks_to_clock(m, atomic_load_explicit(&w->loop.tracked_end, memory_order_relaxed));
        w->tracked_turn = 0;
    } else if (w->tracked_turn != 0 && !view.running) {
        look->ended_known = true; /* it ended in the instant in which it was asked to tell: its word does */
        look->ended_ns = ticks_to_clock(m, view.word >> HD_ACTIVITY_BITS);
    } else if (waits && view.running && !look->ended_known) {
        look->ended_known = true; /* its turn ended when it began to wait */
        look->ended_ns = ticks_to_clock(m, since);
    }
}

/* Time in which nothing of the process could run: a stop, a frozen cgroup, a breakpoint. Only lateness that
 * neither our own wait for a processor nor the watched thread's running accounts for. */
static uint64_t excluded(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, uint64_t late_ns,
                         uint64_t own_delay_ns) {
    struct hd_sched before = w->sched;
    bool known = w->sched_valid;
    w->sched_valid = hd_capture_sched(&w->target, &w->sched) == 0;
    if (late_ns <= LATE_NS || !known || !w->sched_valid) {
        return 0;
    }
    uint64_t ran_ns = (w->sched.cpu_ns - before.cpu_ns) + (w->sched.delay_ns - before.delay_ns);
    uint64_t window_ns = now_ns - m->looked_ns;
    uint64_t explained_ns = own_delay_ns > ran_ns ? own_delay_ns : ran_ns;
    if (window_ns <= explained_ns || late_ns <= own_delay_ns + LATE_NS ||
        window_ns - explained_ns <= LATE_NS) {
        return 0;
    }
    if (ran_ns > HD_NS_PER_MS) {
        return window_ns - explained_ns; /* it ran until the stop: exact */
    }
    uint64_t half_ns =
        (window_ns - late_ns) / 2; /* a blocked one: the stop began somewhere between two looks */
    return late_ns - own_delay_ns + half_ns;
}

static void act(struct hd_monitor *m, struct hd_watch *w, hangdog_state state, const struct hd_look *look,
                const struct hd_limits *limits, unsigned actions) {
    struct hd_message message = {.loop = (uint8_t)(w - m->watch),
                                 .generation = w->generation,
                                 .state = (uint8_t)state,
                                 .threshold_ns = limits->threshold_ns,
                                 .excluded_ns = w->life.excluded_ns,
                                 .activity = (uint8_t)hd_loop_activity(
                                     &w->loop, atomic_load_explicit(&w->loop.word, memory_order_relaxed))};
    if ((actions & HD_ACT_TRACK) != 0) {
        w->target.last_valid =
            false; /* a stack that a capture before this turn's proves is not in its samples */
        message.type = HD_MSG_TRACK;
        message.at_ns = look->turn_ns;
        message.sched = w->begun;
        message.sched_known = w->begun_valid;
        tell(m, &message);
    }
    if ((actions & HD_ACT_SAMPLE) != 0) {
        sample(m, w, HD_MSG_SAMPLE);
    }
    if ((actions & HD_ACT_OPEN) != 0) {
        message.type = HD_MSG_OPEN;
        message.at_ns = look->now_ns;
        message.duration_ns = hd_life_age(&w->life, look->now_ns);
        tell(m, &message);
    }
    if ((actions & (HD_ACT_END | HD_ACT_FORGET)) != 0) {
        message.type = (actions & HD_ACT_END) != 0 ? HD_MSG_END : HD_MSG_FORGET;
        message.at_ns = w->life.end_ns;
        message.duration_ns = w->life.duration_ns;
        message.sched = w->sched;
        message.sched_known = w->sched_valid;
        if (w->tracked_turn != 0) {
            untrack(w);
        }
        tell(m, &message);
    }
}

/* Looks at one loop. True when it runs: the monitor may not park. */
static bool look_at(struct hd_monitor *m, struct hd_watch *w, uint64_t now_ns, uint64_t late_ns,
                    uint64_t own_delay_ns) {
    struct hd_look look;
    struct hd_limits limits;
    bool first = true;
    do {
        hangdog_state state =
            state_of(m, w); /* of the turn that is looked at: before the look may end its launch */
        limits = limits_of(m, w, state);
        fill_look(m, w, now_ns, &look);
        if (!look.running && w->life.state == HD_LIFE_IDLE) {
            return false;
        }
        if (first) {
            struct hd_sched before = w->sched;
            bool known = w->sched_valid;
            look.excluded_ns = excluded(m, w, now_ns, late_ns, own_delay_ns);
            look.moved = w->blocked && known && w->sched.slices != before.slices;
        }
        first = false;
        unsigned actions = hd_life_look(&w->life, &look, &limits);
        if (w->life.state != HD_LIFE_IDLE && w->begun_turn != w->life.turn) {
            w->begun_turn = w->life.turn;
            w->begun = w->sched;
            w->begun_valid = w->sched_valid;
        }
        if ((actions & HD_ACT_TRACK) != 0 && !track(m, w, look.turn)) {
            w->life.state = HD_LIFE_IDLE; /* over before it could be tracked: nothing was told yet */
            continue;
        }
        act(m, w, state, &look, &limits, actions);
    } while (w->life.state == HD_LIFE_IDLE && look.running);
    if (w->life.state == HD_LIFE_HANGING && m->record != NULL) {
        atomic_store_explicit(&m->record->open_duration_ns, hd_life_age(&w->life, now_ns),
                              memory_order_relaxed);
    }
    w->next_ns = hd_life_next_ns(&w->life, hd_os_now_ns(), &limits);
    return w->life.state != HD_LIFE_IDLE;
}

/* ---- figures that must survive the process --------------------------------------------------- */

static void add_cost(struct hd_capture_cost *sum, const struct hd_capture_cost *c) {
    sum->samples += c->samples;
    sum->signals += c->signals;
    sum->interrupted_syscalls += c->interrupted_syscalls;
    sum->restarted_syscalls += c->restarted_syscalls;
    sum->pause_total_ns += c->pause_total_ns;
    sum->pause_max_ns = c->pause_max_ns > sum->pause_max_ns ? c->pause_max_ns : sum->pause_max_ns;
}

/* A watch is over, or its slot is about to be read: its figures are added to `past`-like sums. */
static void add_watch(const struct hd_monitor *m, __typeof__(((struct hd_monitor *)0)->past) *sum,
                      struct hd_watch *w) {
    struct hd_loop_view view;
    hd_loop_view(&w->loop, &view);
    uint64_t pending = view.running ? 0 : atomic_load_explicit(&w->loop.pending_ticks, memory_order_relaxed);
    uint64_t busy = atomic_load_explicit(&w->loop.busy_ticks, memory_order_relaxed) + pending;
    uint64_t until = view.running ? view.turn_ticks : ticks_now(m);
    uint64_t watched = until > w->loop.started_ticks ? until - w->loop.started_ticks : 0;
    for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
        sum->histogram[b] += atomic_load_explicit(&w->loop.histogram[b], memory_order_relaxed);
    }
    if (pending != 0) {
        sum->histogram[hd_turn_bucket(hd_ticks_to_ns(pending, m->ns_per_tick_32))]++;
    }
    sum->busy_ticks += busy;
    sum->idle_ticks += watched > busy ? watched - busy : 0;
    add_cost(&sum->cost, &w->target.cost);
}

static void publish_costs(struct hd_monitor *m, const struct hd_capture_cost *cost) {
    struct hd_record *r = m->record;
    atomic_store_explicit(&r->samples, cost->samples, memory_order_relaxed);
    atomic_store_explicit(&r->signals, cost->signals, memory_order_relaxed);
    atomic_store_explicit(&r->interrupted_syscalls, cost->interrupted_syscalls, memory_order_relaxed);
    atomic_store_explicit(&r->restarted_syscalls, cost->restarted_syscalls, memory_order_relaxed);
    atomic_store_explicit(&r->pause_total_ns, cost->pause_total_ns, memory_order_relaxed);
    atomic_store_explicit(&r->pause_max_ns, cost->pause_max_ns, memory_order_relaxed);
    atomic_store_explicit(&r->late_max_ns, m->late_max_ns, memory_order_relaxed);
    uint64_t cpu_ns = hd_os_thread_cpu_ns();
    atomic_store_explicit(&r->cpu_ns, cpu_ns + atomic_load_explicit(&m->worker_cpu_ns, memory_order_relaxed),
                          memory_order_relaxed);
}

static void publish_figures(struct hd_monitor *m) {
    struct hd_record *r = m->record;
    __typeof__(m->past) sum = m->past;
    for (unsigned i = 0, n = slots(m); i < n; i++) {
        if (atomic_load_explicit(&m->watch[i].use, memory_order_acquire) == HD_WATCH_ON) {
            add_watch(m, &sum, &m->watch[i]);
        }
    }
    for (unsigned b = 0; b < HD_TURN_BUCKETS; b++) { /* what lasted longer, days, is not told apart */
        atomic_store_explicit(&r->turn_histogram[b], sum.histogram[b], memory_order_relaxed);
    }
    atomic_store_explicit(&r->busy_ns, hd_ticks_to_ns(sum.busy_ticks, m->ns_per_tick_32),
                          memory_order_relaxed);
    atomic_store_explicit(&r->idle_ns, hd_ticks_to_ns(sum.idle_ticks, m->ns_per_tick_32),
                          memory_order_relaxed);
    publish_costs(m, &sum.cost);
}

/* ---- coming and going ----------------------------------------------------------------------- */

static void open_watch(struct hd_monitor *m, struct hd_watch *w) {
    w->target = (struct hd_target){.mailbox = w->mailbox, .watched = true};
    w->target.signal = is_filtered(m) ? 0 : m->settings.signal;
    w->life = (struct hd_life){0};
    w->sched_valid = w->blocked = w->sure_told = w->launched = false;
    w->tracked_turn = w->floor_ns = w->changes = 0;
    atomic_store_explicit(&w->changed_ns, 0, memory_order_relaxed);
    hd_target_open(&w->target, w->loop.tid, w->near_sp); /* what could not be opened shows in the captures */
    atomic_store_explicit(&w->use, HD_WATCH_ON, memory_order_release);
    sample(m, w, HD_MSG_DRY);
}

static void close_watch(struct hd_monitor *m, struct hd_watch *w) {
    if (w->life.state == HD_LIFE_HANGING || w->life.state == HD_LIFE_TRACKED) {
        hangdog_state state = state_of(m, w);
        struct hd_limits limits = limits_of(m, w, state);
        struct hd_look look = {.now_ns = hd_os_now_ns()};
        act(m, w, state, &look, &limits, hd_life_look(&w->life, &look, &limits));
    }
    add_watch(m, &m->past, w);
    hd_target_close(&w->target);
    w->mailbox = NULL;
    atomic_store_explicit(&w->use, HD_WATCH_FREE, memory_order_release);
    hd_os.futex_wake((uint32_t *)&w->use, 1, false);
}

static void tell_when_sure(struct hd_monitor *m, struct hd_watch *w) {
    bool sure = atomic_load_explicit(&w->loop.sure, memory_order_relaxed);
    if (sure && !w->sure_told) {
        tell(m, &(struct hd_message){
                    .type = HD_MSG_SURE, .loop = (uint8_t)(w - m->watch), .generation = w->generation});
    }
    w->sure_told = sure;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static uint64_t own_delay(struct hd_monitor *m) {
    struct hd_sched now;
    struct hd_target own = {.schedstat_fd = m->own_schedstat_fd};
    if (hd_capture_sched(&own, &now) != 0) {
        return 0;
    }
    uint64_t delay_ns = now.delay_ns - m->own_sched.delay_ns;
    m->own_sched = now;
    return delay_ns;
}

/* Turns that were running when watching was resumed count from there. */
static void note_pause(struct hd_monitor *m, uint64_t now_ns) {
    bool paused = atomic_load_explicit(&m->paused, memory_order_relaxed) != 0;
    if (m->was_paused && !paused) {
        m->resumed_ns = now_ns;
    }
    m->was_paused = paused;
}

/* A launch that has lasted too long to be sampled any more: its waits wake us. */
static bool given_up(const struct hd_monitor *m, const struct hd_watch *w) {
    return m->settings.sample_launch_ns != 0 && !w->launched && w->life.state != HD_LIFE_IDLE &&
           hd_life_age(&w->life, m->anchor_ns) > m->settings.sample_launch_ns;
}

/* All loops, one pass. The time of the next look, FOR_EVER when every loop is idle. */
static uint64_t look(struct hd_monitor *m) {
    uint64_t now_ns;
    anchor(m, &now_ns);
    uint64_t late_ns = m->planned_ns != 0 && now_ns > m->planned_ns ? now_ns - m->planned_ns : 0;
    uint64_t delay_ns = late_ns > LATE_NS ? own_delay(m) : 0;
    m->late_max_ns = late_ns > m->late_max_ns ? late_ns : m->late_max_ns;
    uint64_t next_ns = FOR_EVER;
    note_pause(m, now_ns);
    for (unsigned i = 0, n = slots(m); i < n; i++) {
        struct hd_watch *w = &m->watch[i];
        uint32_t use = atomic_load_explicit(&w->use, memory_order_acquire);
        if (use == HD_WATCH_NEW) {
            open_watch(m, w);
        } else if (use == HD_WATCH_LEAVING) {
            close_watch(m, w);
            continue;
        } else if (use != HD_WATCH_ON) {
            continue;
        }
        tell_when_sure(m, w);
        if (look_at(m, w, now_ns, late_ns, delay_ns) && !given_up(m, w) && w->next_ns < next_ns) {
            next_ns = w->next_ns;
        }
    }
    const struct hd_recogniser *recogniser = &m->settings.recogniser;
    if (recogniser->due != NULL && recogniser->due(recogniser->ctx, now_ns)) {
        tell(m, &(struct hd_message){.type = HD_MSG_WAITS});
    }
    m->looked_ns = now_ns;
    m->unread_late_ns = late_ns > LATE_NS ? 0 : m->unread_late_ns + late_ns;
    if (m->unread_late_ns > UNREAD_LATE_NS && next_ns != FOR_EVER) {
        own_delay(m);
        m->unread_late_ns = 0;
    }
    return next_ns;
}

/* Asks every loop to wake us when it runs. Its word is to be believed HD_SETTLE_NS later, and not before. */
static void ask_to_be_woken(struct hd_monitor *m) {
    if (m->asked_ns != 0) {
        return;
    }
    for (unsigned i = 0, n = slots(m); i < n; i++) {
        if (atomic_load_explicit(&m->watch[i].use, memory_order_acquire) == HD_WATCH_ON) {
            atomic_fetch_or_explicit(&m->watch[i].loop.flags, HD_FLAG_PARKED, memory_order_seq_cst);
        }
    }
    m->asked_ns = hd_os_now_ns();
}

static void stop_asking(struct hd_monitor *m) {
    if (m->asked_ns == 0) {
        return;
    }
    for (unsigned i = 0, n = slots(m); i < n; i++) {
        if (atomic_load_explicit(&m->watch[i].use, memory_order_acquire) == HD_WATCH_ON) {
            atomic_fetch_and_explicit(&m->watch[i].loop.flags, ~HD_FLAG_PARKED, memory_order_seq_cst);
        }
    }
    m->asked_ns = 0;
}

/* What a thread that installs a filter waits for: no question to any loop, no signal. */
static void note_filter(struct hd_monitor *m) {
    uint32_t told = atomic_load_explicit(&m->filter, memory_order_acquire);
    if (told != HD_FILTER_COMES && told != HD_FILTER_FAILED) {
        return;
    }
    bool comes = told == HD_FILTER_COMES;
    for (unsigned i = 0, n = slots(m); i < n; i++) {
        struct hd_watch *w = &m->watch[i];
        if (atomic_load_explicit(&w->use, memory_order_acquire) != HD_WATCH_ON) {
            continue;
        }
        atomic_fetch_and_explicit(&w->loop.flags, ~(HD_FLAG_PARKED | HD_FLAG_TRACKED), memory_order_seq_cst);
        w->target.signal = comes ? 0 : m->settings.signal;
        w->tracked_turn = comes ? w->tracked_turn : 0; /* nobody was asked: its end shows in the word */
    }
    m->asked_ns = 0;
    m->was_parked = false;
    atomic_store_explicit(&m->filter, comes ? HD_FILTER_THERE : HD_FILTER_NONE, memory_order_release);
    hd_os.futex_wake((uint32_t *)&m->filter, 1, false);
}

/* Whether every loop is still asked: one that has run since then took its flag off, and need not run any
 * more. */
static bool still_asked(const struct hd_monitor *m) {
    for (unsigned i = 0, n = slots(m); i < n; i++) {
        uint32_t use = atomic_load_explicit(&m->watch[i].use, memory_order_acquire);
        bool asked =
            use == HD_WATCH_ON &&
            (atomic_load_explicit(&m->watch[i].loop.flags, memory_order_seq_cst) & HD_FLAG_PARKED) != 0;
        if (use == HD_WATCH_NEW || use == HD_WATCH_LEAVING || (use == HD_WATCH_ON && !asked)) {
            return false;
        }
    }
    return true;
}

/* Sleeps until somebody runs. Every loop was idle at a look that came long enough after they were asked. */
static void park(struct hd_monitor *m, uint32_t seen) {
    if (still_asked(m)) { /* `seen` is older: a flag that is taken off from now on changes the word */
        hd_os.futex_wait((uint32_t *)&m->wake, seen, FOR_EVER, false);
    }
    stop_asking(m);
    m->was_parked = true;
    m->awake_until_ns = hd_os_now_ns() + m->settings.interval_ns;
}

/* Until the next look, or until a loop wakes us. After a wake we stay awake for an interval: a busy loop is
 * not to wake us at each of its turns. But when we come from a park it is asked at once, so that a loop that
 * only ticks costs two wake-ups a tick: the second finds it idle, and asked long ago. */
static void wait(struct hd_monitor *m, uint32_t seen, uint64_t next_ns) {
    bool idle = next_ns == FOR_EVER;
    uint64_t until_ns = next_ns;
    bool ask = m->was_parked;
    m->planned_ns = 0;
    if (idle || m->looked_ns >= m->published_ns + PUBLISH_NS) {
        m->published_ns = m->looked_ns;
        publish_figures(m);
    }
    if (idle && m->asked_ns != 0 && m->looked_ns >= m->asked_ns + HD_SETTLE_NS) {
        park(m, seen);
    } else {
        if (idle && m->looked_ns < m->awake_until_ns) {
            until_ns = m->awake_until_ns;
        } else if (idle && is_filtered(m)) {
            until_ns = m->looked_ns + FILTERED_LOOK_NS;
        } else if (idle) {
            until_ns = hd_os_now_ns() + HD_SETTLE_NS + HD_SETTLE_NS / 4;
            ask = true;
        }
        m->was_parked = false;
        if (ask && !is_filtered(m)) {
            ask_to_be_woken(m);
        } else {
            stop_asking(m);
        }
        if (hd_os.futex_wait((uint32_t *)&m->wake, seen, until_ns, false) != -ETIMEDOUT) {
            stop_asking(m);
            m->awake_until_ns = hd_os_now_ns() + m->settings.interval_ns;
        }
        m->planned_ns =
            idle ? 0 : next_ns; /* a look before it is due is early, not late: woken by a turn's end */
    }
    if (idle) {
        m->looked_ns = hd_os_now_ns();
        m->unread_late_ns = NOT_READ; /* how late this waking was is not known */
    }
}

static int open_own(struct hd_monitor *m) {
    struct hd_target own = {0};
    int rc = hd_target_open(&own, hd_os.get_tid(), 0);
    m->own_schedstat_fd =
        own.schedstat_fd; /* kept; the others are closed with the table when the thread ends */
    own.schedstat_fd = -1;
    hd_target_close(&own);
    return rc;
}

void *hd_monitor_run(void *monitor) {
    struct hd_monitor *m = monitor;
    hd_os.set_thread_name("hangdog");
    hd_os.close_all_unshared(); /* where it fails, ours are numbers of the program's table: high ones are not
                                   needed to be right */
    atomic_store_explicit(&m->tid, hd_os.get_tid(), memory_order_relaxed);
    hd_capture_files_open();
    open_own(m);
    m->unread_late_ns = NOT_READ;
    while (!atomic_load_explicit(&m->stopping, memory_order_acquire)) {
        uint32_t seen = atomic_load_explicit(&m->wake, memory_order_seq_cst);
        note_filter(m);
        uint64_t next_ns = look(m);
        m->wakeups++;
        wait(m, seen, next_ns);
    }
    for (unsigned i = 0, n = slots(m); i < n; i++) {
        if (atomic_load_explicit(&m->watch[i].use, memory_order_acquire) >= HD_WATCH_NEW) {
            close_watch(m, &m->watch[i]);
        }
    }
    publish_figures(m);
    tell(m, &(struct hd_message){.type = HD_MSG_STOP});
    return NULL;
}
