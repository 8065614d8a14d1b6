/* SPDX-License-Identifier: MIT
 *
 * Rung 2, the monitor's side: asks, waits, takes the answer. Monitor: no allocation, no lock.
 */
#include "capture/linux/signalled.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/arch/machine.h"
#include "capture/linux/target.h"
#include "capture/mailbox.h"
#include "os/linux/proc_text.h"
#include "os/os.h"
#include "os/ticks.h"

#define ANSWER_NS (50 * HD_NS_PER_MS)
#define MOMENT_NS                                                                                          \
    (5 * HD_NS_PER_MS)              /* for who may answer later: looks are to be in time, whatever it does \
                                     */
#define SPIN_NS (50 * HD_NS_PER_US) /* a signal takes some 15 to 30 µs there, a wake-up of ours 30 to 80 */
#define RELAX 32                    /* some 1 to 2 µs */
/* A thread inside sigwait, which takes what it keeps blocked, shows it as not blocked. So who was seen to
 * block it still does, until it is seen not to twice, and to have run for so long in between and not waited:
 * not one that was woken there, and got no processor since. */
#define UNBLOCKED_NS (100 * HD_NS_PER_US)
/* A thread that computes inside the kernel runs; what our signal broke there it may begin again, and would
 * never come to an end of. */
#define BACK_OFF_NS (100 * HD_NS_PER_MS) /* after the first call; twice as long after each further one */
#define BACK_OFF_MAX_NS (100 * HD_NS_PER_S)
#define FIRST_NAP_NS (60 * HD_NS_PER_US) /* naps need no wake-up call by the handler */
#define LONGEST_NAP_NS (2 * HD_NS_PER_MS)
#define FETCHED_BYTES (16u * 1024u)
#define CACHE_LINE 64u
#define GROWN_MAX (128ULL << 20) /* the kernel maps nothing nearer below the end of a main thread's stack */

/* Two buffers for all. They belong to the library and not to the caller, since a handler that was put off in
 * mid-copy for longer than anybody waits would write into whatever the caller's has become. The first is
 * written by watched threads only, and lent to whoever unwinds: most of its cache lines are never read, and
 * stay where the next sample is written to. The other is for everything else: a running thread while the
 * first is lent, stacks that the monitor copies. */
static struct {
    uint8_t *borrowed, *spare;
    int signal;
    const struct hd_mailbox *copying; /* that handler's; the rung stays closed until it is done */
    uint32_t sequence;
    const struct hd_target
        *request;     /* its late answer goes into `borrowed`, which nobody else gets; NULL: nobody's */
    uint64_t filters; /* under which the handler may do what it does */
} shared;

static int take_buffers(void) {
    if (shared.borrowed == NULL) {
        uint8_t *bytes = hd_os_memory_take(2 * (size_t)HD_STACK_BYTES_MAX);
        if (bytes == NULL) {
            return -ENOMEM;
        }
        /* touched: a fault in the handler costs more than the copy */
        memset(bytes, 0xff, 2 * (size_t)HD_STACK_BYTES_MAX);
        shared.borrowed = bytes;
        shared.spare = bytes + HD_STACK_BYTES_MAX;
    }
    return 0;
}

int hd_capture_buffers(void) {
    shared.request = NULL; /* it may be a parent's */
    return take_buffers();
}

int hd_signalled_prepare(int signal) {
    int rc = take_buffers();
    shared.signal = rc == 0 ? signal : 0;
    return rc;
}

void hd_capture_filters_are(uint64_t filters) {
    shared.filters = filters;
}

int hd_signalled_signal(void) {
    return shared.signal;
}

void hd_signalled_fetch(void) {
    const uint8_t *bytes = __atomic_load_n(&shared.borrowed, __ATOMIC_RELAXED);
    for (unsigned i = 0; bytes != NULL && i < FETCHED_BYTES; i += CACHE_LINE) {
        hd_machine_fetch(bytes + i);
    }
}

static uint64_t napped_ns;

uint64_t hd_capture_napped_ns(void) {
    return napped_ns;
}

void hd_capture_nap(uint64_t ns) {
    napped_ns += ns;
    hd_os_nap(ns);
}

static enum hd_mail_phase phase_of(uint64_t word) {
    return (enum hd_mail_phase)(word & 3);
}

static enum hd_mail_phase phase_now(const struct hd_mailbox *m) {
    return phase_of(__atomic_load_n(&m->word, __ATOMIC_ACQUIRE));
}

/* The buffer that a handler is still at which nobody waited for, or NULL. */
static const uint8_t *copying_buffer(void) {
    if (shared.copying != NULL && phase_now(shared.copying) != HD_MAIL_COPYING) {
        shared.copying = NULL;
    }
    return shared.copying != NULL ? shared.copying->bytes : NULL;
}

/* No answer to the question will be taken from now on. False: it is there. */
static bool take_back(struct hd_mailbox *m, uint32_t sequence) {
    uint64_t request = hd_mail_word(sequence, HD_MAIL_REQUESTED);
    if (__atomic_compare_exchange_n(&m->word, &request, hd_mail_word(sequence, HD_MAIL_IDLE), false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return true;
    }
    if (phase_of(request) == HD_MAIL_DONE) {
        return false;
    }
    shared.copying = m; /* put off in mid-copy */
    return true;
}

/* A question that stands has a place for its answer from now on, if there is one: the thread has not been
 * back since it was asked, or the signal were not pending. */
static void make_room(struct hd_target *t) {
    struct hd_mailbox *m = t->mailbox;
    if (shared.request == NULL && shared.borrowed != NULL && copying_buffer() == NULL &&
        __atomic_load_n(&m->left, __ATOMIC_RELAXED) == 0) {
        shared.request = t;
        m->bytes = shared.borrowed;
        hd_target_share_bounds(t);
        __atomic_store_n(&m->word, hd_mail_word(t->request, HD_MAIL_REQUESTED), __ATOMIC_RELEASE);
    }
}

bool hd_capture_may_lend(const struct hd_target *t) {
    return shared.request == NULL || shared.request == t;
}

void hd_capture_late_forget(struct hd_target *t) {
    if (t->request == 0) {
        return; /* also the worker's targets */
    }
    if (shared.request == t) {
        shared.request = NULL;
        (void)take_back(t->mailbox, t->request);
    }
    t->unanswered = t->request; /* its signal may come later */
    t->request = 0;
}

/* A handler that is in mid-copy now has the buffers to itself: the next start takes others. */
void hd_signalled_forget(const struct hd_mailbox *m) {
    if (m != NULL && copying_buffer() != NULL && shared.copying == m) { /* the worker's targets have none */
        shared.copying = NULL;
        __atomic_store_n(&shared.borrowed, NULL, __ATOMIC_RELAXED); /* threads that come look at it */
        shared.spare = NULL;
    }
}

uint8_t *hd_signalled_spare(void) {
    return copying_buffer() != shared.spare ? shared.spare : NULL;
}

static bool shows_blocked(const struct hd_target *t, const struct hd_proc_status *status) {
    return (status->blocked >> (t->signal - 1) & 1) != 0;
}

static bool blocks(struct hd_target *t, const struct hd_proc_status *status) {
    struct hd_proc_status then;
    uint64_t before_ns, after_ns;
    if (!t->blocks || shows_blocked(t, status) ||
        hd_os.thread_cpu_clock(hd_thread_id_tid(t->thread), &before_ns) < 0) {
        return t->blocks;
    }
    hd_capture_nap(2 * UNBLOCKED_NS);
    t->blocks = hd_target_status(t, &then) < 0 || shows_blocked(t, &then) ||
                then.voluntary != status->voluntary ||
                hd_os.thread_cpu_clock(hd_thread_id_tid(t->thread), &after_ns) < 0 ||
                after_ns - before_ns < UNBLOCKED_NS;
    return t->blocks;
}

/* The program has taken the signal: it is the program's from now on. Another one of the kind that is ignored
 * by default serves as well, unless the program has that, too. 0: there is none. */
static int take_another(int taken) {
    return taken == SIGURG && hd_capture_signal_init(SIGWINCH) == 0 ? SIGWINCH : 0;
}

bool hd_signalled_allowed(struct hd_target *t, bool lend) {
    struct hd_kernel_action action = {0};
    struct hd_proc_status status;

    if (!t->watched || t->mailbox == NULL || t->signal <= 0 || t->back_off ||
        hd_target_status(t, &status) < 0) {
        return false;
    }
    bool quiet = t->voluntary_valid && status.voluntary == t->voluntary;
    t->voluntary = status.voluntary;
    t->voluntary_valid = true;
    if (status.filters != shared.filters || status.filters == HD_FILTERS_UNKNOWN) {
        return false; /* the handler's calls, and the return from it, may be the end of the program */
    }
    t->blocks |= shows_blocked(t, &status);
    bool pending = (status.pending >> (t->signal - 1) & 1) != 0;
    if (pending && !shows_blocked(t, &status)) {
        t->request =
            t->request != 0 ? t->request : t->unanswered; /* for a turn before: it is still where it was */
        if (lend && t->request != 0) {
            make_room(t);
        }
        return false;
    }
    if (t->request != 0 && shared.request == t && phase_now(t->mailbox) != HD_MAIL_REQUESTED) {
        return false; /* it answers just now: the next look takes it */
    }
    hd_capture_late_forget(t); /* the signal is lost, or the thread may have run since */
    t->unanswered = 0;
    t->no_room = !hd_capture_mailbox_has_space(t->mailbox);
    if (!quiet || pending || t->no_room || blocks(t, &status)) {
        return false;
    }
    if (hd_os.signal_action(t->signal, NULL, &action) < 0 || action.handler != (void *)hd_capture_on_signal) {
        t->signal = take_another(t->signal);
        return false;
    }
    return shared.borrowed != NULL && copying_buffer() == NULL &&
           __atomic_load_n(&t->mailbox->left, __ATOMIC_RELAXED) == 0;
}

static bool has_answered(const struct hd_mailbox *m, uint32_t sequence) {
    return __atomic_load_n(&m->word, __ATOMIC_ACQUIRE) == hd_mail_word(sequence, HD_MAIL_DONE);
}

/* A thread on our own processor answers only when we sleep. False: no answer yet. */
static bool wait_for_answer(const struct hd_mailbox *m, uint32_t sequence, uint64_t for_ns) {
    uint64_t now = hd_os_now_ns();
    uint64_t spin_until = now + SPIN_NS, until = now + for_ns;
    uint64_t nap = FIRST_NAP_NS;

    while (!has_answered(m, sequence)) {
        now = hd_os_now_ns();
        if (now < spin_until) {
            for (unsigned i = 0; i < RELAX; i++) { /* each look takes the word's line from the handler */
                hd_machine_relax();
            }
            continue;
        }
        if (now >= until || __atomic_load_n(&m->left, __ATOMIC_RELAXED) != 0) {
            return false;
        }
        hd_capture_nap(nap);
        nap = nap * 2 < LONGEST_NAP_NS ? nap * 2 : LONGEST_NAP_NS;
    }
    return true;
}

/* So many ticks of a trip, in ns; nothing took longer than all of it, whatever an unsteady counter says. By
 * the trip alone: the machine may have been suspended before, while the counter ran on. */
static uint64_t part_of(const struct hd_instant *trip, uint64_t ticks) {
    return ticks < trip->ticks ? hd_ticks_to_ns(ticks, hd_clock_ratio_32(trip->ns, trip->ticks)) : trip->ns;
}

static void note_times(struct hd_target *t, const struct hd_mailbox *m, const struct hd_instant *sent,
                       struct hd_capture *out) {
    uint64_t now_ns = hd_os_now_ns();
    uint64_t ticks = hd_ticks_read();
    struct hd_instant trip = {ticks - sent->ticks, now_ns - sent->ns};
    uint64_t pause = part_of(&trip, m->ticks_end - m->ticks_begin);

    t->cost.pause_total_ns += pause;
    t->cost.pause_max_ns = pause > t->cost.pause_max_ns ? pause : t->cost.pause_max_ns;
    /* Not when it answered: until then it was where it is found, and what it does next is the next sample's.
     */
    out->at_ns = sent->ns;
}

static void note_calls(struct hd_target *t, const struct hd_mailbox *m) {
    uint64_t interrupted = __atomic_load_n(&m->interrupted_syscalls, __ATOMIC_RELAXED);

    if (interrupted == t->cost.interrupted_syscalls) { /* no proof that the next will not break one again */
        t->back_off_ns = t->back_off_ns > BACK_OFF_NS ? t->back_off_ns - t->back_off_ns / 4 : 0;
    } else {
        if (t->back_off_ns < BACK_OFF_MAX_NS) {
            t->back_off_ns = t->back_off_ns == 0 ? BACK_OFF_NS : 2 * t->back_off_ns;
        }
        t->back_off_until_ns = hd_os_now_ns() + t->back_off_ns;
        t->ticks_inside = UINT64_MAX; /* it has just been there */
    }
    t->cost.interrupted_syscalls = interrupted;
    t->cost.restarted_syscalls = __atomic_load_n(&m->restarted_syscalls, __ATOMIC_RELAXED);
}

static void read_answer(struct hd_target *t, const struct hd_instant *sent, struct hd_capture *out) {
    const struct hd_mailbox *m = t->mailbox;
    out->regs = m->regs;
    out->stack_addr = m->stack_addr;
    out->stack_bytes = m->stack_bytes < HD_STACK_BYTES_MAX ? m->stack_bytes : HD_STACK_BYTES_MAX;
    out->truncated = m->truncated;
    out->stack = m->bytes;
    out->borrowed = m->bytes == shared.borrowed;
    out->way = HD_WAY_SIGNALLED;
    out->state = HD_RUN_RUNNING;
    out->syscall_nr = HD_SYSCALL_NONE;
    note_times(t, m, sent, out);
    note_calls(t, m);
    uint64_t lo, hi;
    if (t->stack_hi - m->regs.sp < GROWN_MAX) { /* it may have grown: the next copy is whole */
        (void)hd_target_bounds(t, m->regs.sp, &lo, &hi);
    }
}

int hd_signalled_take(struct hd_target *t, bool lend, struct hd_capture *out) {
    struct hd_mailbox *m = t->mailbox;
    uint32_t sequence = ++shared.sequence;

    m->bytes = lend ? shared.borrowed : shared.spare;
    hd_target_share_bounds(t);
    __atomic_store_n(&m->word, hd_mail_word(sequence, HD_MAIL_REQUESTED), __ATOMIC_RELEASE);
    struct hd_instant sent = {.ticks = hd_ticks_read(), .ns = hd_os_now_ns()};
    int rc = hd_os.signal_thread(hd_os.get_pid(), hd_thread_id_tid(t->thread), t->signal, sequence);
    if (rc < 0) {
        __atomic_store_n(&m->word, hd_mail_word(sequence, HD_MAIL_IDLE), __ATOMIC_RELAXED);
        return rc;
    }
    t->cost.signals++;
    bool answered = wait_for_answer(m, sequence, lend ? MOMENT_NS : ANSWER_NS);
    bool stays = !answered && lend && __atomic_load_n(&m->left, __ATOMIC_RELAXED) == 0;
    if (stays || (!answered && take_back(m, sequence))) {
        shared.request = stays ? t : shared.request;
        t->request = sequence; /* nobody else's: the signal carries it */
        t->requested_at = sent;
        return -ETIMEDOUT;
    }
    read_answer(t, &sent, out);
    return 0;
}

static bool has_answered_late(const struct hd_target *t) {
    return t->request != 0 && shared.request == t && has_answered(t->mailbox, t->request);
}

void hd_signalled_begin(struct hd_target *t) {
    if (has_answered_late(t)) {
        hd_capture_late_forget(t);
    }
}

int hd_capture_late(struct hd_target *t, struct hd_capture *out) {
    if (!has_answered_late(t)) {
        return -EAGAIN;
    }
    shared.request = NULL;
    t->request = 0;
    *out = (struct hd_capture){0};
    read_answer(t, &t->requested_at, out);
    (void)hd_capture_sched(t, &out->sched);
    hd_capture_sched_now(t, &out->sched);
    t->cost.samples++;
    return 0;
}
