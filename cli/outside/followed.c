/* SPDX-License-Identifier: MIT */
#include "cli/outside/followed.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "cli/live/sampled.h"
#include "cli/outside/reads.h"
#include "cli/outside/recognise.h"
#include "cli/outside/reporting.h"
#include "detect/turn_state.h"
#include "worker/threads.h"

#define STILL_NS (2 * HD_NS_PER_S)   /* a blocked thread is suspect for so long after it has run last */
#define UNKNOWN_NS (1 * HD_NS_PER_S) /* after the threshold, for which a thread without a loop is suspect */
#define SAMPLE_NS (2 * HD_NS_PER_MS) /* how long a running thread may take to give its first sample */
#define SAMPLED_MAX 32u              /* threads with an open perf event; each ring takes 132 KB */

struct outside_followed {
    struct hd_turn_state turn;
    struct hd_target target;
    struct sampled *sampled; /* NULL: the thread was not seen running */
    bool missed;             /* the newest look found no sample of the running thread */
    struct hd_hook_turn end; /* end_ns 0: the hook has not said when the turn ended */
    uint64_t earlier_ns;
    bool at_least;
    bool tracked;          /* the worker knows the turn */
    bool blocked;          /* at the newest sample */
    struct hd_sched sched; /* at the newest sample */
    uint64_t begun_ns, looked_ns;
    uint64_t moved_ns; /* the newest look at which the thread was not blocked, or had run since its sample */
    uint64_t sampled_ns; /* when a sample was last taken or sent: older ones of the kernel are void */
    uint64_t samples;
};

static const struct hd_record_options *options_of(const struct outside_thread *t) {
    return &t->process->shown.record->options;
}

/* A turn is followed from its earliest start on, and becomes a hang by its latest. */
static struct hd_limits limits_of(const struct outside_thread *t, uint64_t earlier_ns) {
    const struct hd_record_options *o = options_of(t);
    return (struct hd_limits){.interval_ns = o->interval_ns,
                              .sample_ns = o->interval_ns,
                              .threshold_ns = o->threshold_ns + earlier_ns};
}

static uint64_t earliest_start(const struct hd_hook_thread *seen) {
    return seen->since_ns - (seen->earlier_ns < seen->since_ns ? seen->earlier_ns : 0);
}

/* How long the turn has lasted for certain. */
static uint64_t certain_ns(const struct outside_followed *f, uint64_t age_ns) {
    return age_ns > f->earlier_ns ? age_ns - f->earlier_ns : 0;
}

static void read_hook(const struct outside_thread *t, uint64_t now_ns, struct hd_hook_thread *seen) {
    const struct watcher *w = t->process->watcher;
    const struct outside_source source = {
        .stacks = w->stacks, .process = &t->process->live, .tid = t->tid, .way = w->way, .hook = w->hook};
    w->way->read(w->hook, t->tid, seen);
    if (t->recogniser != NULL) {
        outside_look(t->recogniser, &source, now_ns, seen);
    }
}

/* ---- begin and end ---------------------------------------------------------------------------- */

static bool follow(struct outside_thread *t, const struct hd_hook_thread *seen) {
    struct watcher *w = t->process->watcher;
    struct outside_followed *f = calloc(1, sizeof *f);
    if (f == NULL || reporting_open(t->process) != 0 || outside_reads(t->process) != 0) {
        free(f);
        return false;
    }
    t->followed = f;
    t->process->followed++;
    f->earlier_ns = seen->earlier_ns;
    f->at_least = !seen->known;
    f->begun_ns = f->looked_ns = f->moved_ns = hd_os_now_ns();
    f->target.capacity = HD_STACK_BYTES_MAX;
    (void)hd_target_open(&f->target, hd_thread_id_of((uint64_t)t->tid));
    w->way->suspect(w->hook, t->tid, true);
    return true;
}

static void unfollow(struct outside_thread *t) {
    struct watcher *w = t->process->watcher;
    w->way->suspect(w->hook, t->tid, false);
    hd_target_close(&t->followed->target);
    w->sampled -= t->followed->sampled != NULL;
    sampled_close(t->followed->sampled);
    free(t->followed);
    t->followed = NULL;
    t->process->followed--;
}

/* ---- messages --------------------------------------------------------------------------------- */

static void begin_message(const struct outside_thread *t, struct reporting_message *m,
                          enum hd_message_type type) {
    const struct outside_followed *f = t->followed;
    reporting_begin(t, m);
    m->head.type = (uint8_t)type;
    m->head.threshold_ns = options_of(t)->threshold_ns;
    m->head.start_ticks = f->turn.start_ticks;
    m->head.excluded_ns = f->turn.excluded_ns;
    m->head.cost.captures.samples = f->samples;
}

static void send_track(struct outside_thread *t, uint64_t now_ns) {
    struct outside_followed *f = t->followed;
    struct reporting_message m;
    if (reporting_watch(t) == NULL) {
        return;
    }
    struct hd_sched sched;
    bool known = hd_thread_clock_sched(&f->target.files, &sched) == 0;
    begin_message(t, &m, HD_MSG_TRACK);
    m.head.at_ns = f->turn.start_ns;
    m.head.duration_ns = hd_turn_state_age(&f->turn, now_ns);
    m.head.at_least = f->at_least;
    m.head.thread_sched = (struct hd_message_sched){.known = known, .at_ns = now_ns, .sched = sched};
    f->tracked = reporting_send(t->process, &m);
}

/* The samples stay open while the turn is followed, so the watcher waits for the first one only. */
static int take_sample(struct outside_thread *t, struct hd_capture *c) {
    struct outside_followed *f = t->followed;
    struct watcher *w = t->process->watcher;
    uint64_t until_ns = f->sampled == NULL ? hd_os_now_ns() + SAMPLE_NS : 0;
    int rc = 0;
    if (f->sampled == NULL) {
        rc = w->sampled < SAMPLED_MAX ? sampled_open(&f->sampled, t->tid) : -EAGAIN;
        w->sampled += rc == 0;
    }
    return rc == 0 ? sampled_next(f->sampled, f->sampled_ns, until_ns, w->stack, c) : rc;
}

/* A running thread gives a sample by perf. Without the right to it, the kernel shows whether it runs. False:
 * the sample is due at the next look. */
static bool capture_running(struct outside_thread *t, struct hd_capture *c) {
    struct outside_followed *f = t->followed;
    struct hd_sched sched = c->sched;
    int rc = take_sample(t, c);
    bool due = rc == -EAGAIN && f->sampled != NULL && !f->missed;
    f->missed = due;
    if (rc != 0) {
        bool ran = sched.slices != f->sched.slices || sched.cpu_ns != f->sched.cpu_ns;
        *c = (struct hd_capture){.at_ns = hd_os_now_ns(),
                                 .syscall_nr = HD_SYSCALL_NONE,
                                 .way = HD_WAY_KERNEL,
                                 .state = ran ? HD_RUN_RUNNING : HD_RUN_RUNNABLE};
    }
    if (hd_thread_clock_sched(&f->target.files, &c->sched) != 0) {
        c->sched = sched;
    }
    return !due;
}

static void send_sample(struct outside_thread *t) {
    struct outside_followed *f = t->followed;
    struct reporting_message m;
    if (outside_reads(t->process) != 0) {
        return;
    }
    uint64_t now_ns = hd_os_now_ns();
    int rc = hd_capture_frozen(&f->target, t->process->watcher->stack, &m.capture);
    bool given = rc == 0 || (rc != -ESRCH && capture_running(t, &m.capture));
    f->sampled_ns = now_ns;
    if (!given) {
        return;
    }
    f->blocked = hd_capture_shows_wait(&m.capture);
    f->sched = m.capture.sched;
    f->samples++;
    begin_message(t, &m, HD_MSG_SAMPLE);
    m.head.at_ns = m.capture.at_ns;
    reporting_send(t->process, &m);
    if (t->certainty == HD_RECORD_NO_LOOP && !m.capture.same) {
        reporting_find_loop(t, &m.capture);
    }
}

static void send_open(struct outside_thread *t, uint64_t now_ns) {
    struct reporting_message m;
    begin_message(t, &m, HD_MSG_OPEN);
    m.head.at_ns = now_ns;
    m.head.earlier_ns = t->followed->earlier_ns;
    m.head.duration_ns = certain_ns(t->followed, hd_turn_state_age(&t->followed->turn, now_ns));
    reporting_send(t->process, &m);
}

static void send_end(struct outside_thread *t, unsigned actions) {
    struct outside_followed *f = t->followed;
    struct reporting_message m;
    f->earlier_ns = f->end.end_ns != 0 ? f->end.earlier_ns : f->earlier_ns;
    uint64_t duration_ns = certain_ns(f, f->turn.duration_ns);
    if (!f->tracked) {
        if ((actions & HD_ACT_END) != 0 && t->certainty == HD_RECORD_LOOP_CERTAIN) {
            hd_record_add_unreported(t->process->shown.record, duration_ns);
        }
        return;
    }
    begin_message(t, &m, (actions & HD_ACT_END) != 0 ? HD_MSG_END : HD_MSG_FORGET);
    m.head.at_ns = f->turn.end_ns;
    m.head.earlier_ns = f->earlier_ns;
    m.head.duration_ns = duration_ns;
    struct hd_sched sched;
    if (outside_reads(t->process) == 0 && hd_thread_clock_sched(&f->target.files, &sched) == 0) {
        m.head.thread_sched = (struct hd_message_sched){.known = true, .sched = sched};
    }
    reporting_send(t->process, &m);
}

/* ---- a look ----------------------------------------------------------------------------------- */

static void act(struct outside_thread *t, uint64_t now_ns, unsigned actions) {
    const struct outside_followed *f = t->followed;
    bool sample = (actions & HD_ACT_SAMPLE) != 0;
    /* When the turn began, the worker had no place for it. A hang needs one more than other turns. */
    bool again = sample && !f->tracked && f->turn.phase == HD_TURN_HANGING;
    if (again || (actions & HD_ACT_TRACK) != 0) {
        send_track(t, now_ns);
    }
    if (f->tracked && sample) {
        send_sample(t);
    }
    if (f->tracked && (again || (actions & HD_ACT_OPEN) != 0)) {
        send_open(t, now_ns);
    }
    if ((actions & (HD_ACT_END | HD_ACT_FORGET)) != 0) {
        send_end(t, actions);
    }
}

/* True: the thread was blocked at the last sample, and has run since. */
static bool has_moved(struct outside_followed *f) {
    struct hd_sched now;
    return f->blocked && hd_thread_clock_sched(&f->target.files, &now) == 0 && now.slices != f->sched.slices;
}

static uint64_t changed_ns(struct outside_thread *t) {
    return t->slot != 0 ? atomic_load(&reporting_watch(t)->worker.changed_ns) : 0;
}

/* Stores the end of the turn, if it has ended. The hook's event has the exact end. */
static void find_end(const struct outside_followed *f, const struct hd_hook_thread *seen,
                     struct hd_look *look) {
    if (f->end.end_ns != 0 && f->end.end_ns >= f->turn.start_ns) {
        look->ended_known = true;
        look->ended_ns = f->end.end_ns;
    } else if (seen->waits || earliest_start(seen) > f->turn.start_ns) {
        look->ended_known = true;
        look->ended_ns = earliest_start(seen);
    }
}

static struct hd_look look_at(struct outside_thread *t, const struct hd_hook_thread *seen, uint64_t now_ns) {
    struct outside_followed *f = t->followed;
    struct hd_look look = {.now_ns = now_ns,
                           .running = !seen->waits,
                           .start_ns = earliest_start(seen),
                           .start_ticks = earliest_start(seen),
                           .changed_ns = changed_ns(t)};
    if (f->turn.phase == HD_TURN_IDLE) {
        return look;
    }
    find_end(f, seen, &look);
    if (!look.ended_known) {
        f->earlier_ns = seen->earlier_ns;
    }
    look.void_turn = t->left;
    look.moved = has_moved(f);
    f->moved_ns = f->blocked && !look.moved ? f->moved_ns : now_ns;
    if (t->process->stopped) {
        look.excluded_ns = now_ns - f->looked_ns;
    }
    return look;
}

/* True: the thread's turn is long enough to be followed. Without a known loop only the main thread is
 * followed, if its program has not just started. At most one kind of wait of that thread may be known, and it
 * must be read: the thread may hang since the watch began. */
static bool is_long(const struct outside_thread *t, const struct hd_hook_thread *seen,
                    const struct hd_limits *limits, uint64_t now_ns) {
    uint64_t old_ns = FOLLOWED_INTERVALS * limits->interval_ns;
    if (seen->since_ns == 0) { /* the hook does not know the thread, as just after an exec */
        return false;
    }
    if (t->certainty == HD_RECORD_NO_LOOP) {
        bool unread = t->recogniser != NULL && outside_is_unread(t->recogniser);
        if (unread || t->process->young || t->tid != t->process->live.pid || seen->known || t->sights > 1) {
            return false;
        }
        old_ns = options_of(t)->threshold_ns;
    }
    return !seen->waits && !t->left && now_ns >= earliest_start(seen) + old_ns;
}

/* The suspicion costs all calls of the host, so it ends where it finds no wait any more. A main thread
 * without a loop may wait for other threads for ever. A thread that stays blocked, such as a shell that waits
 * for a command, makes no call. */
static bool is_suspect(const struct outside_thread *t, uint64_t now_ns) {
    const struct outside_followed *f = t->followed;
    uint64_t unknown_ns = f->begun_ns + options_of(t)->threshold_ns + UNKNOWN_NS;
    bool may_loop = t->certainty != HD_RECORD_NO_LOOP || t->has_evidence || now_ns < unknown_ns;
    return may_loop && now_ns < f->moved_ns + STILL_NS;
}

uint64_t followed_look(struct outside_thread *t, uint64_t now_ns) {
    struct hd_hook_thread seen;
    read_hook(t, now_ns, &seen);
    now_ns = seen.seen_ns != 0 ? seen.seen_ns : now_ns; /* a busy machine may have come between */
    struct hd_limits limits = limits_of(t, seen.earlier_ns);
    if (t->followed == NULL) {
        if (!is_long(t, &seen, &limits, now_ns) || !follow(t, &seen)) {
            return UINT64_MAX;
        }
    }
    if (outside_reads(t->process) != 0) {
        return UINT64_MAX;
    }
    struct hd_look look = look_at(t, &seen, now_ns);
    act(t, now_ns, hd_turn_state_step(&t->followed->turn, &look, &limits));
    t->followed->looked_ns = now_ns;
    if (t->followed->turn.phase == HD_TURN_IDLE) {
        unfollow(t);
        return UINT64_MAX;
    }
    const struct watcher *w = t->process->watcher;
    w->way->suspect(w->hook, t->tid, is_suspect(t, now_ns));
    if (t->followed->turn.phase == HD_TURN_HANGING) {
        const struct hd_turn_state *turn = &t->followed->turn;
        reporting_duration(t, turn->start_ns + t->followed->earlier_ns, turn->excluded_ns,
                           certain_ns(t->followed, hd_turn_state_age(turn, now_ns)));
    }
    return hd_turn_state_next_ns(&t->followed->turn, hd_os_now_ns(), limits.interval_ns, &limits);
}

void followed_turn(struct outside_thread *t, const struct hd_hook_turn *turn) {
    if (t->followed != NULL) {
        t->followed->end = *turn;
        return;
    }
    const uint64_t duration_ns = turn->end_ns - turn->start_ns;
    bool parked = t->recogniser != NULL && outside_was_parked(t->recogniser, turn);
    if (!parked && t->certainty == HD_RECORD_LOOP_CERTAIN && duration_ns >= options_of(t)->threshold_ns) {
        hd_record_add_unreported(t->process->shown.record, duration_ns);
    }
}

void followed_void(struct outside_thread *t, uint64_t now_ns) {
    if (t->followed == NULL) {
        return;
    }
    struct hd_limits limits = limits_of(t, t->followed->earlier_ns);
    struct hd_look look = {.now_ns = now_ns, .void_turn = true};
    act(t, now_ns, hd_turn_state_step(&t->followed->turn, &look, &limits));
    unfollow(t);
}

void followed_found(struct outside_thread *t, uint64_t first_ns) {
    if (t->followed != NULL) {
        uint64_t start_ns = t->followed->turn.start_ns; /* no turn may end before it starts */
        followed_end(t, first_ns > start_ns ? first_ns : start_ns);
    }
}

void followed_end(struct outside_thread *t, uint64_t ended_ns) {
    if (t->followed == NULL) {
        return;
    }
    struct hd_limits limits = limits_of(t, t->followed->earlier_ns);
    struct hd_look look = {.now_ns = hd_os_now_ns(), .ended_known = true, .ended_ns = ended_ns};
    act(t, look.now_ns, hd_turn_state_step(&t->followed->turn, &look, &limits));
    unfollow(t);
}

void followed_drop(struct outside_thread *t) {
    if (t->followed != NULL) {
        unfollow(t);
    }
}
