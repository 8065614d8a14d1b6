/* SPDX-License-Identifier: MIT
 *
 * What a mark costs: the exported calls as a program calls them, before and after a wait in turn, beside the
 * least that a mark can be (the counter and one store) and two readings of the clock.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "bench.h"
#include "hangdog/hangdog.h"
#include "os/ticks.h"

#define MARKS 20000 /* a variant: some 0.2 ms */

enum {
    LIMIT,
    CALLS,
    MARK,
    FRAME,
    CLOCKS,
    VARIANTS
};

static double limit(void *arg, unsigned repeats) {
    static _Atomic uint64_t word;
    (void)arg;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        atomic_store_explicit(&word, hd_ticks_read(), memory_order_relaxed);
    }
    return (double)(bench_now_ns() - from);
}

static double calls(void *arg, unsigned repeats) {
    hangdog_loop *loop = arg;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i += 2) {
        hangdog_after_wait(loop);
        hangdog_before_wait(loop);
    }
    return (double)(bench_now_ns() - from);
}

static double mark(void *arg, unsigned repeats) {
    hangdog_loop *loop = arg;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i += 2) {
        hangdog_mark(loop, HANGDOG_AFTER_WAITING);
        hangdog_mark(loop, HANGDOG_BEFORE_WAITING);
    }
    return (double)(bench_now_ns() - from);
}

/* One call a frame, where a turn takes two marks. */
static double frame(void *arg, unsigned repeats) {
    hangdog_loop *loop = arg;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        hangdog_frame(loop);
    }
    return (double)(bench_now_ns() - from);
}

static double clocks(void *arg, unsigned repeats) {
    struct timespec t;
    (void)arg;
    uint64_t from = bench_now_ns();
    for (unsigned i = 0; i < repeats; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        clock_gettime(CLOCK_MONOTONIC, &t);
    }
    return (double)(bench_now_ns() - from);
}

int bench_mark(void) {
    static const bench_variant variants[VARIANTS] = {
        [LIMIT] = limit, [CALLS] = calls, [MARK] = mark, [FRAME] = frame, [CLOCKS] = clocks};
    struct bench_rounds r = {.count = VARIANTS, .rounds = bench_options.fast ? 200 : 1000, .repeats = MARKS};
    char folder[BENCH_PATH];
    if (bench_folder_make(folder) != 0) {
        return 1;
    }
    hangdog_loop *loop = bench_watch(folder, 0);
    int rc = loop != NULL ? bench_rounds_run(&r, variants, loop) : 1;
    if (rc == 0) {
        double target = 1.25 * r.median[LIMIT];
        bench_report("mark.ns", r.median[CALLS], "ns", target, r.median[CALLS] <= target, "two clock_gettime",
                     r.median[CLOCKS]);
        bench_report("mark.any", r.median[MARK], "ns", NAN, true, "two clock_gettime", r.median[CLOCKS]);
        bench_report("mark.frame", r.median[FRAME], "ns", NAN, true, "two clock_gettime", r.median[CLOCKS]);
        bench_report("mark.limit", r.median[LIMIT], "ns", NAN, true, NULL, 0);
    }
    bench_rounds_free(&r);
    hangdog_stop();
    bench_folder_remove(folder);
    return rc;
}
