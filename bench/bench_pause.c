/* SPDX-License-Identifier: MIT
 *
 * What a sample costs the thread that is sampled: the gap that a spinning thread sees in itself, beside the
 * gap by an empty handler of the same kind of signal; the time in our handler by its own clock; the first
 * sample beside the others; and of a blocked thread the context switches and the lateness of its wake-ups,
 * sampled and not.
 */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "capture/capture.h"
#include "capture/linux/signal_handler.h"
#include "capture/target.h"
#include "capture/watched_thread.h"
#include "os/linux/proc_text.h"
#include "os/os.h"
#include "os/ticks.h"
#include "unwind/unwind.h"

#define STACK_BYTES (16u * 1024u)
#define OTHER_BYTES 2304u /* of the stack: what lies above the thread's own function, and the red zone */
#define GAPS 65536u       /* a ring: more than any sample's window sees */
#define GAP_NS 700.0      /* anything shorter is the spinning itself */
#define WINDOW_NS 400000  /* after which an empty handler's gap is over */
#define ROUNDS 2000u
#define FIRSTS 25
#define OTHERS 20

struct spinner {
    pthread_t thread;
    void *memory;
    struct hd_mailbox *mailbox;
    struct hd_target target;
    int tid;
    bool blocked; /* sleeps to a beat instead of spinning */
    atomic_int ready, stop;
    double ticks_per_ns;
    atomic_uint gaps; /* written so far */
    uint64_t begin[GAPS], end[GAPS];
    atomic_ullong worst_late_ns;
};

static struct {
    int mem_fd;
    struct hd_modules modules;
    struct hd_unwinder *unwinder;
} reader;

/* ---- the thread that is sampled --------------------------------------------------------------- */

static void spin(struct spinner *s) {
    const uint64_t least = (uint64_t)(GAP_NS * s->ticks_per_ns);
    uint64_t before = hd_ticks_read();
    while (atomic_load_explicit(&s->stop, memory_order_relaxed) == 0) {
        uint64_t now = hd_ticks_read();
        if (now - before > least) {
            unsigned n = atomic_load_explicit(&s->gaps, memory_order_relaxed);
            s->begin[n % GAPS] = before;
            s->end[n % GAPS] = now;
            atomic_store_explicit(&s->gaps, n + 1, memory_order_release);
            now = hd_ticks_read();
        }
        before = now;
    }
}

static void sleep_to_a_beat(struct spinner *s) {
    uint64_t next = bench_now_ns();
    while (atomic_load_explicit(&s->stop, memory_order_relaxed) == 0) {
        next += 10 * BENCH_MS;
        struct timespec t = {(time_t)(next / BENCH_S), (long)(next % BENCH_S)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        uint64_t late = bench_now_ns() - next;
        if (late > atomic_load_explicit(&s->worst_late_ns, memory_order_relaxed)) {
            atomic_store_explicit(&s->worst_late_ns, late, memory_order_relaxed);
        }
    }
}

static void *run(void *arg) {
    struct spinner *s = arg;
    uint8_t frames[STACK_BYTES - OTHER_BYTES]; /* what there is to copy */
    memset(frames, 1, sizeof frames);
    __asm__ volatile("" : : "r"(frames) : "memory");
    s->tid = hd_os.get_tid();
    if (hd_capture_thread_enter(s->memory, &s->mailbox) != 0) {
        return NULL;
    }
    atomic_store(&s->ready, 1);
    if (s->blocked) {
        sleep_to_a_beat(s);
    } else {
        spin(s);
    }
    hd_capture_thread_leave(s->mailbox);
    __asm__ volatile("" : : "r"(frames) : "memory");
    return NULL;
}

static bool reader_open(void) {
    reader.mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    reader.unwinder = malloc(hd_unwinder_bytes());
    if (reader.mem_fd < 0 || reader.unwinder == NULL) {
        return false;
    }
    hd_modules_init_live(&reader.modules, reader.mem_fd);
    hd_unwinder_init(reader.unwinder, &reader.modules);
    return true;
}

static double measure_ticks(void) {
    uint64_t ticks = hd_ticks_read(), ns = bench_now_ns();
    bench_sleep_ns(20 * BENCH_MS);
    return (double)(hd_ticks_read() - ticks) / (double)(bench_now_ns() - ns);
}

static struct spinner *spinner_start(bool blocked) {
    struct spinner *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    memset(s->begin, 0xff, sizeof s->begin); /* touched, so that no fault is a gap */
    memset(s->end, 0xff, sizeof s->end);
    s->blocked = blocked;
    s->ticks_per_ns = measure_ticks();
    s->memory = hd_os_memory_take(hd_capture_thread_bytes());
    if (!reader_open() || hd_capture_signal_init(SIGURG) != 0 || s->memory == NULL ||
        pthread_create(&s->thread, NULL, run, s) != 0) {
        fprintf(stderr, "hangdog-bench: pause: cannot start a watched thread\n");
        free(s);
        return NULL;
    }
    while (atomic_load(&s->ready) == 0) {
        bench_sleep_ns(BENCH_MS);
    }
    s->target = (struct hd_target){.watched = true, .mailbox = s->mailbox, .request.signal = SIGURG};
    hd_target_open(&s->target, hd_thread_id_of(s->tid));
    return s;
}

static void spinner_end(struct spinner *s) {
    atomic_store(&s->stop, 1);
    pthread_join(s->thread, NULL);
    hd_target_close(&s->target);
    hd_os_memory_give(s->memory, hd_capture_thread_bytes());
    close(reader.mem_fd);
    free(reader.unwinder);
    free(s);
}

/* The longest gap that began or ended in the window, in ns. The scheduler's tick may be in it too: medians
 * are what counts. */
static double longest_gap(const struct spinner *s, uint64_t from, uint64_t to) {
    uint64_t longest = 0;
    unsigned n = atomic_load_explicit(&s->gaps, memory_order_acquire);
    for (unsigned i = n; i > 0 && n - i < GAPS / 2 && s->end[(i - 1) % GAPS] >= from; i--) {
        uint64_t begin = s->begin[(i - 1) % GAPS], end = s->end[(i - 1) % GAPS];
        if (begin <= to && end - begin > longest) {
            longest = end - begin;
        }
    }
    return (double)longest / s->ticks_per_ns;
}

/* What the worker does with each: what it reads of the copy, the next sample has to fetch back. */
static void read_sample(const struct hd_capture *c) {
    static struct hd_frame frames[256];
    struct hd_walk walk;
    hd_unwind(reader.unwinder, &c->regs, c->stack, c->stack_addr, c->stack_bytes, 0, frames, 256, &walk);
}

/* One sample by a signal: the gap that our handler lies in, or NAN when it was none. *handler_ns: by its own
 * clock. */
static double one_sample(struct spinner *s, double *handler_ns) {
    struct hd_capture c;
    uint64_t before = s->target.cost.pause_total_ns;
    if (hd_capture_take(&s->target, true, &c) != 0 || c.way != HD_WAY_SIGNALLED ||
        c.stack_bytes < STACK_BYTES - 256) {
        return NAN;
    }
    read_sample(&c);
    *handler_ns = (double)(s->target.cost.pause_total_ns - before);
    uint64_t at = s->target.mailbox->ticks_begin; /* the capture itself is of when it was asked for */
    uint64_t about = (uint64_t)(2000 * s->ticks_per_ns);
    double gap = longest_gap(s, at - about, at + about);
    return gap > 0 ? gap : NAN;
}

static _Atomic uint64_t empty_at; /* as little as tells when it ran */

static void nothing(int signal) {
    (void)signal;
    atomic_store_explicit(&empty_at, hd_ticks_read(), memory_order_relaxed);
}

static double one_empty(struct spinner *s) {
    uint64_t about = (uint64_t)(2000 * s->ticks_per_ns);
    uint64_t sent = hd_ticks_read();
    if (hd_os.signal_thread(hd_os.get_pid(), s->tid, SIGWINCH, 0) < 0) {
        return NAN;
    }
    bench_sleep_ns(WINDOW_NS);
    uint64_t at = atomic_load_explicit(&empty_at, memory_order_relaxed);
    double gap = at > sent ? longest_gap(s, at - about, at + about) : 0;
    return gap > 0 ? gap : NAN;
}

/* ---- running ------------------------------------------------------------------------------------ */

/* Samples alone, so that what else this process does between two of them is not in it. */
static double time_handler(struct spinner *s, double *scratch, unsigned rounds) {
    unsigned n = 0;
    for (unsigned i = 0; i < rounds; i++) {
        if (!isnan(one_sample(s, &scratch[n]))) {
            n++;
        }
        bench_sleep_ns(BENCH_MS);
    }
    return bench_median(scratch, n);
}

static int bench_signalled(void) {
    struct sigaction empty = {.sa_handler = nothing, .sa_flags = SA_RESTART | SA_ONSTACK};
    unsigned rounds = bench_options.fast ? ROUNDS / 10 : ROUNDS;
    static double ours[ROUNDS], theirs[ROUNDS], handler[ROUNDS];
    double ignored;
    unsigned n_ours = 0, n_theirs = 0;
    struct spinner *s = spinner_start(false);

    if (s == NULL) {
        return -1;
    }
    sigfillset(&empty.sa_mask);
    sigaction(SIGWINCH, &empty, NULL);
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned k = 0; k < 2; k++) {
            double gap;
            if (k == i % 2) {
                gap = one_sample(s, &ignored);
                if (!isnan(gap)) {
                    ours[n_ours++] = gap;
                }
            } else {
                gap = one_empty(s);
                if (!isnan(gap)) {
                    theirs[n_theirs++] = gap;
                }
            }
            bench_sleep_ns(BENCH_MS);
        }
    }
    double in_handler = time_handler(s, handler, rounds) / 1000;
    spinner_end(s);
    if (n_ours < rounds / 2 || n_theirs < rounds / 2) {
        fprintf(stderr, "hangdog-bench: pause: only %u of %u samples came by a signal\n", n_ours, rounds);
        return -1;
    }
    double gap = bench_median(ours, n_ours) / 1000, peer = bench_median(theirs, n_theirs) / 1000;
    bench_report("pause.signalled", gap, "us", 1.2 * peer, gap <= 1.2 * peer, "empty handler", peer);
    bench_report("pause.handler", in_handler, "us", 0.5, in_handler <= 0.5, NULL, 0);
    return 0;
}

/* ---- the first one --------------------------------------------------------------------------------- */

/* In a process of its own, since only the first sample of a process is the first: two figures into the pipe.
 */
static void first_and_others(int fd) {
    double figures[2] = {NAN, NAN}, others[OTHERS], handler_ns;
    unsigned n = 0;
    struct spinner *s = spinner_start(false);
    if (s != NULL) {
        bench_sleep_ns(20 * BENCH_MS);
        figures[0] = one_sample(s, &handler_ns);
        for (unsigned i = 0; i < OTHERS; i++) {
            bench_sleep_ns(2 * BENCH_MS);
            double gap = one_sample(s, &handler_ns);
            if (!isnan(gap)) {
                others[n++] = gap;
            }
        }
        figures[1] = bench_median(others, n);
    }
    _exit(write(fd, figures, sizeof figures) == (ssize_t)sizeof figures ? 0 : 1);
}

static int bench_first(void) {
    double first[FIRSTS], others[FIRSTS], figures[2];
    unsigned n = 0;
    for (unsigned i = 0; i < (bench_options.fast ? 5 : FIRSTS); i++) {
        int fds[2];
        if (pipe(fds) != 0) {
            return -1;
        }
        pid_t child = fork();
        if (child == 0) {
            first_and_others(fds[1]);
        }
        close(fds[1]);
        bool whole = read(fds[0], figures, sizeof figures) == (ssize_t)sizeof figures;
        close(fds[0]);
        waitpid(child, NULL, 0);
        if (whole && !isnan(figures[0]) && !isnan(figures[1])) {
            first[n] = figures[0];
            others[n++] = figures[1];
        }
    }
    if (n == 0) {
        fprintf(stderr, "hangdog-bench: pause: no first sample came by a signal\n");
        return -1;
    }
    double value = bench_median(first, n) / 1000, peer = bench_median(others, n) / 1000;
    bench_report("pause.first", value, "us", 2 * peer, value <= 2 * peer, "the others", peer);
    return 0;
}

/* ---- blocked ------------------------------------------------------------------------------------------ */

struct quiet {
    double switches; /* per wake-up of its own */
    double late_us;
};

static int one_beat(bool sampled, struct quiet *out) {
    struct hd_proc_status before, after;
    struct hd_capture c;
    struct spinner *s = spinner_start(true);
    if (s == NULL) {
        return -1;
    }
    bench_sleep_ns(50 * BENCH_MS);
    atomic_store(&s->worst_late_ns, 0);
    uint64_t until = bench_now_ns() + (bench_options.fast ? 1 : 3) * BENCH_S;
    int rc = hd_thread_files_status(&s->target.files, &before);
    uint64_t beats = bench_now_ns();
    while (bench_now_ns() < until) {
        if (sampled) {
            hd_target_forget_last(&s->target); /* the whole copy each time */
            hd_capture_take(&s->target, true, &c);
        }
        bench_sleep_ns(BENCH_MS);
    }
    beats = (bench_now_ns() - beats) / (10 * BENCH_MS);
    rc = rc < 0 ? rc : hd_thread_files_status(&s->target.files, &after);
    out->late_us = (double)atomic_load(&s->worst_late_ns) / 1000;
    if (bench_options.verbose && s->target.cost.signals != 0) {
        fprintf(stderr, "hangdog-bench: pause: %lu signals to a thread that sleeps\n",
                s->target.cost.signals);
    }
    spinner_end(s);
    out->switches = rc < 0 ? NAN : (double)(after.voluntary - before.voluntary) - (double)beats;
    return rc;
}

static int bench_frozen(void) {
    struct quiet with = {0, 0}, without = {0, 0}, one;
    for (unsigned i = 0; i < 3; i++) {
        if (one_beat(false, &one) < 0) {
            return -1;
        }
        without.switches += one.switches;
        without.late_us = fmax(without.late_us, one.late_us);
        if (one_beat(true, &one) < 0) {
            return -1;
        }
        with.switches += one.switches;
        with.late_us = fmax(with.late_us, one.late_us);
    }
    /* What the thread's own beats do not account for; one at either end is where the window cuts. */
    double extra = fmax(0, with.switches - fmax(0, without.switches) - 3);
    bench_report("pause.frozen", extra, "switches", 0, extra <= 0, "not sampled",
                 fmax(0, without.switches - 3));
    bench_report("pause.frozen_late", with.late_us, "us", NAN, true, "not sampled", without.late_us);
    return 0;
}

int bench_pause(void) {
    hd_os_clock_init();
    int rc = bench_first(); /* before this process has taken any */
    if (rc == 0) {
        rc = bench_signalled();
    }
    return rc != 0 ? rc : bench_frozen();
}
