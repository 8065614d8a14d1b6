/* SPDX-License-Identifier: MIT
 *
 * What a hang costs while it lasts: CPU time of our two threads, and for a running thread the time that our
 * signals took from it, as a share of the hang's time. The signals' time is measured on the watched thread
 * itself: it reads the counter in a loop, and a gap counts as a signal's when our handler ran in it. Beside
 * it the same program without the library.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "capture/linux/signal_handler.h"
#include "capture/watched_thread.h"
#include "monitor/monitor.h"
#include "os/os.h"

#define GAP_NS 400 /* a pass of the loop takes some 20 ns; a signal some 2 µs at least */
#define GAPS_MAX 4096
#define PUBLISHED_PEER 0.33

/* What one run of the program tells, in memory shared with its parent. */
struct result {
    bool done;
    uint64_t hang_ns, process_cpu_ns;
    struct bench_threads before, after;
    uint64_t signals, other_gaps_ns;
    double signal_ns;        /* median: a gap may hold another program's time slice as well */
    double gap_ns[GAPS_MAX]; /* of the signals */
};

static uint64_t process_cpu_ns(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * BENCH_S +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* ---- the hangs ------------------------------------------------------------------------------ */

static void hang_blocked(uint64_t ns, const struct hd_mailbox *mail, struct result *out) {
    (void)mail;
    (void)out;
    bench_sleep_ns(ns);
}

/* The handler writes the counter into the mailbox as its last act but one. */
static uint64_t handled(const struct hd_mailbox *mail) {
    return mail != NULL ? __atomic_load_n(&mail->ticks_end, __ATOMIC_RELAXED) : 0;
}

static void hang_running(uint64_t ns, const struct hd_mailbox *mail, struct result *out) {
    uint64_t from = bench_now_ns(), first = hd_ticks_read(), now_ns = from;
    uint64_t last = first, seen = handled(mail);
    uint64_t gap_ticks = GAP_NS * 2; /* before the rate is known: some 3 GHz */
    uint64_t other_ticks = 0;
    while (now_ns - from < ns) {
        for (unsigned i = 0; i < 5000; i++) {
            uint64_t now = hd_ticks_read(), gap = now - last;
            last = now;
            if (gap < gap_ticks) {
                continue;
            }
            uint64_t end = handled(mail);
            if (end != seen) {
                seen = end;
                out->gap_ns[out->signals++ % GAPS_MAX] = (double)gap;
            } else {
                other_ticks += gap;
            }
            last = hd_ticks_read();
        }
        now_ns = bench_now_ns();
        last = hd_ticks_read();
    }
    double ns_per_tick = (double)(now_ns - from) / (double)(last - first);
    size_t gaps = out->signals < GAPS_MAX ? out->signals : GAPS_MAX;
    out->signal_ns = gaps > 0 ? bench_median(out->gap_ns, gaps) * ns_per_tick : 0;
    out->other_gaps_ns = (uint64_t)((double)other_ticks * ns_per_tick);
}

/* The least that watching can cost: a thread that only wakes, as often as the monitor looks: after a
 * twentieth of the time so far, 50 ms at least and a second at most. */
static void hang_floor(uint64_t ns, const struct hd_mailbox *mail, struct result *out) {
    uint32_t word = 0;
    uint64_t from = bench_now_ns(), next = from;
    (void)mail;
    while (next < from + ns) {
        uint64_t step = (next - from) / 20;
        next += step < 50 * BENCH_MS ? 50 * BENCH_MS : step < BENCH_S ? step : BENCH_S;
        hd_os.futex_wait(&word, 0, next, false);
    }
    (void)out;
}

typedef void (*hang_body)(uint64_t, const struct hd_mailbox *, struct result *);

/* ---- one run of the program ----------------------------------------------------------------- */

static void run_program(hang_body hang, bool watched, uint64_t ns, struct result *out) {
    char folder[BENCH_PATH] = "";
    hangdog_loop *loop = NULL;
    if (watched && (bench_folder_make(folder) != 0 || (loop = bench_watch(folder, 0)) == NULL)) {
        return;
    }
    /* the public handle is the watch: its mailbox tells which gaps are our handler's */
    const struct hd_mailbox *mail =
        loop != NULL ? ((const struct hd_watch *)(const void *)loop)->mailbox : NULL;
    bench_own_threads(&out->before);
    uint64_t cpu_ns = process_cpu_ns(), from = bench_now_ns();
    hangdog_after_wait(loop);
    hang(ns, mail, out);
    hangdog_before_wait(loop);
    out->hang_ns = bench_now_ns() - from;
    if (watched) {
        bench_sleep_ns(500 * BENCH_MS); /* the report of its end is part of its cost */
    }
    out->process_cpu_ns = process_cpu_ns() - cpu_ns;
    bench_own_threads(&out->after);
    hangdog_stop();
    if (watched) {
        bench_folder_remove(folder);
    }
    out->done = true;
}

static pid_t start(hang_body hang, bool watched, uint64_t ns, struct result *out) {
    pid_t pid = fork();
    if (pid == 0) {
        run_program(hang, watched, ns, out);
        _exit(0);
    }
    return pid;
}

static bool finish(pid_t pid, const struct result *r) {
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!r->done) {
        fprintf(stderr, "hangdog-bench: hang-cpu: the program did not come to its end (status %#x)\n",
                (unsigned)status);
    }
    return r->done;
}

/* ---- figures -------------------------------------------------------------------------------- */

static double percent(double part_ns, uint64_t whole_ns) {
    return 100 * part_ns / (double)whole_ns;
}

static void print_result(const char *name, double target, const struct result *without,
                         const struct result *with) {
    char ab[64];
    uint64_t monitor_ns = with->after.monitor_cpu_ns - with->before.monitor_cpu_ns;
    uint64_t worker_ns = with->after.worker_cpu_ns - with->before.worker_cpu_ns;
    double signals_ns = (double)with->signals * with->signal_ns;
    double cost = percent((double)(monitor_ns + worker_ns) + signals_ns, with->hang_ns);
    double cpu_with = percent((double)with->process_cpu_ns, with->hang_ns);
    double cpu_without = percent((double)without->process_cpu_ns, without->hang_ns);
    bench_report(name, cost, "%", target, cost <= target, "published", PUBLISHED_PEER);
    snprintf(ab, sizeof ab, "%s-total", name);
    bench_report(ab, cpu_with, "%", NAN, true, "the same program without", cpu_without);
    if (!bench_options.verbose) {
        return;
    }
    fprintf(
        stderr,
        "%s: of %.1f s: monitor %.2f ms (%llu waits), worker %.2f ms (%llu waits), %llu signals of %.2f us\n",
        name, (double)with->hang_ns / 1e9, (double)monitor_ns / 1e6,
        (unsigned long long)(with->after.monitor_waits - with->before.monitor_waits), (double)worker_ns / 1e6,
        (unsigned long long)(with->after.worker_waits - with->before.worker_waits),
        (unsigned long long)with->signals, with->signal_ns / 1e3);
}

int bench_hang_cpu(void) {
    enum {
        BLOCKED_WITHOUT,
        BLOCKED_WITH,
        FLOOR,
        RUNNING_WITHOUT,
        RUNNING_WITH,
        RUNS
    };
    uint64_t ns = bench_options.fast ? 5 * BENCH_S : 20 * BENCH_S;
    struct result *r =
        mmap(NULL, RUNS * sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED) {
        perror("hangdog-bench: hang-cpu: mmap");
        return 1;
    }
    /* sleepers side by side; those that run one after the other */
    pid_t without = start(hang_blocked, false, ns, &r[BLOCKED_WITHOUT]);
    pid_t with = start(hang_blocked, true, ns, &r[BLOCKED_WITH]);
    pid_t least = start(hang_floor, false, ns, &r[FLOOR]);
    bool done = finish(without, &r[BLOCKED_WITHOUT]);
    done = finish(with, &r[BLOCKED_WITH]) && done;
    done = finish(least, &r[FLOOR]) && done;
    if (done) {
        print_result("hang-cpu.blocked", 0.05, &r[BLOCKED_WITHOUT], &r[BLOCKED_WITH]);
        bench_report("hang-cpu.floor", percent((double)r[FLOOR].process_cpu_ns, r[FLOOR].hang_ns), "%", NAN,
                     true, NULL, 0);
    }
    done = done && finish(start(hang_running, false, ns, &r[RUNNING_WITHOUT]), &r[RUNNING_WITHOUT]);
    done = done && finish(start(hang_running, true, ns, &r[RUNNING_WITH]), &r[RUNNING_WITH]);
    if (done) {
        print_result("hang-cpu.running", 0.12, &r[RUNNING_WITHOUT], &r[RUNNING_WITH]);
    }
    munmap(r, RUNS * sizeof *r);
    return done ? 0 : 1;
}
