/* SPDX-License-Identifier: MIT
 *
 * Detection held to the truth: 200 stalls of a seeded random workload, in some processes side by side, each
 * watched through the library. What each stall was is measured by the program's own clock while it runs; what
 * Hangdog says of it is read from the spool at the end. Two peers see the same stalls: one stack taken when
 * the threshold passes, and an ideal sampler that knows at every interval which function is on.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_truth.h"
#include "hangdog/hangdog.h"

#define STALLS 200u
#define STALLS_FAST 24u
#define LANES_MAX 64u
#define PING_ERROR_MS 60 /* it dates a hang by up to a period of 50 ms too late, and a wake-up more */
#define FIRST_SAMPLE_NS (2 * TRUTH_INTERVAL_NS)

/* ---- one lane: a process with a watched loop ------------------------------------------------ */

struct workload {
    uint64_t seed;
    enum truth_scheme scheme;
};

static uint64_t wall_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * BENCH_S + (uint64_t)t.tv_nsec;
}

static void be_quiet(struct truth_random *random, struct truth_lane *lane) {
    struct truth_quiet quiet;
    truth_plan_quiet(random, &quiet);
    truth_loop_idle(quiet.idle_ns);
    for (unsigned i = 0; i < quiet.turns; i++) {
        if (i == 0 || !quiet.without_waiting) {
            truth_turn_begin();
        } else {
            truth_turn_next();
        }
        uint64_t from_ns = bench_now_ns();
        truth_work_short(quiet.kind[i], quiet.turn_ns[i]);
        /* held up by the machine it was a hang after all, and no false alarm */
        lane->quiet_turns += bench_now_ns() - from_ns < TRUTH_THRESHOLD_NS;
        if (i + 1 == quiet.turns || !quiet.without_waiting) {
            truth_turn_end();
            truth_loop_idle(5 * BENCH_MS);
        }
    }
}

static void stall(struct truth_stall *s) {
    s->wall_ns = wall_now_ns();
    uint64_t from_ns = bench_now_ns();
    truth_turn_begin();
    s->from_ns = bench_now_ns();
    truth_work_run(s);
    s->to_ns = bench_now_ns();
    truth_turn_end();
    s->longest_ns = bench_now_ns() - from_ns;
    s->run = true;
    truth_judge(s);
}

/* A stall that did not come out as planned, since the machine held it up, counts for recall and duration
 * only, and another one is run in its place. */
static void run_lane(unsigned number, unsigned lanes, const struct workload *w, struct truth_lane *lane) {
    char folder[BENCH_PATH];
    if (bench_folder_make(folder) != 0) {
        return;
    }
    if (truth_loop_open(w->scheme, folder) == 0 && truth_work_open(folder) == 0) {
        for (unsigned index = number; lane->clear < lane->wanted && lane->runs < lane->capacity;
             index += lanes) {
            struct truth_random random = {.state = w->seed * 0x100000000ULL + index};
            struct truth_stall *s = &lane->stall[lane->runs];
            be_quiet(&random, lane);
            truth_plan_stall(&random, index, s);
            stall(s);
            lane->runs++;
            lane->clear += s->clear;
        }
        truth_loop_close();
        truth_work_close();
        hangdog_stop();
        truth_read_reports(folder, lane);
        lane->done = lane->clear >= lane->wanted;
    }
    if (bench_options.verbose && getenv("HANGDOG_BENCH_KEEP") != NULL) {
        fprintf(stderr, "truth: the reports of lane %u are in %s\n", number, folder);
    } else {
        bench_folder_remove(folder);
    }
}

/* ---- the peers ------------------------------------------------------------------------------ */

/* The segment that was on at `at_ns` of the stall. */
static unsigned segment_at(const struct truth_stall *s, uint64_t at_ns) {
    unsigned i = 0;
    while (i + 1 < s->count && s->segment[i].to_ns <= s->from_ns + at_ns) {
        i++;
    }
    return i;
}

/* Each sample stands for the time until the next, the first one also for what was before. */
static void ideal_sampler(const struct truth_stall *s, unsigned *hot, enum truth_kind *cause) {
    uint64_t segment_ns[TRUTH_SEGMENTS_MAX] = {0}, kind_ns[TRUTH_KINDS] = {0};
    uint64_t duration_ns = s->to_ns - s->from_ns;
    for (uint64_t at = FIRST_SAMPLE_NS; at < duration_ns; at += TRUTH_INTERVAL_NS) {
        unsigned i = segment_at(s, at);
        uint64_t until = at + TRUTH_INTERVAL_NS < duration_ns ? at + TRUTH_INTERVAL_NS : duration_ns;
        uint64_t ns = until - (at == FIRST_SAMPLE_NS ? 0 : at);
        segment_ns[i] += ns;
        kind_ns[s->segment[i].kind] += ns;
    }
    *hot = 0;
    *cause = TRUTH_CPU;
    for (unsigned i = 1; i < s->count; i++) {
        *hot = segment_ns[i] >= segment_ns[*hot] ? i : *hot;
    }
    for (unsigned k = 1; k < TRUTH_KINDS; k++) {
        *cause = kind_ns[k] > kind_ns[*cause] ? (enum truth_kind)k : *cause;
    }
}

/* ---- figures -------------------------------------------------------------------------------- */

struct totals {
    unsigned runs, found, clear, false_alarms, quiet_turns;
    unsigned hot, cause, hot_one_stack, cause_one_stack, hot_ideal, cause_ideal;
    unsigned two_callers, hot_two_callers;
    double *error_ms, error_p99_ms;
    double error_most_ms; /* that the scheme may have */
};

static void print_stall(uint64_t seed, const char *what, const struct truth_stall *s) {
    fprintf(stderr, "truth: seed %llu, stall %u: %s; truth: %s_%d, %s, %.3f s;", (unsigned long long)seed,
            s->index, what, truth_kind_name(s->segment[s->hot].kind), s->segment[s->hot].function,
            truth_kind_name(s->cause), (double)(s->to_ns - s->from_ns) / 1e9);
    if (!s->found) {
        fprintf(stderr, " no report;");
    } else {
        fprintf(stderr, " report: %s_%d, %s, %.3f s, %u samples, %s, %s%s;",
                s->hot_kind >= 0 ? truth_kind_name((enum truth_kind)s->hot_kind) : "none", s->hot_function,
                s->cause_said, (double)s->duration_ns / 1e9, s->samples, s->capture, s->stop,
                s->complete ? "" : ", not complete");
    }
    for (unsigned i = 0; i < s->count; i++) {
        const struct truth_segment *g = &s->segment[i];
        fprintf(stderr, " %s_%u@%u %.0f ms (cpu %.0f, waited for a processor %.0f)%s",
                truth_kind_name(g->kind), g->function, g->depth, (double)(g->to_ns - g->from_ns) / 1e6,
                (double)g->cpu_ns / 1e6, (double)g->delay_ns / 1e6, i + 1 < s->count ? "," : "\n");
    }
}

/* What the report is off the truth, which is known to lie between the time within the marks and that around
 * them: some 0.1 us apart, unless the thread lost its processor right there. */
static double duration_error_ms(const struct truth_stall *s) {
    uint64_t least_ns = s->to_ns - s->from_ns;
    if (s->duration_ns < least_ns) {
        return (double)(least_ns - s->duration_ns) / 1e6;
    }
    return s->duration_ns > s->longest_ns ? (double)(s->duration_ns - s->longest_ns) / 1e6 : 0;
}

static void count_stall(uint64_t seed, const struct truth_stall *s, struct totals *t) {
    const struct truth_segment *hot = &s->segment[s->hot];
    unsigned ideal;
    enum truth_kind ideal_cause;
    t->runs++;
    bool found = s->found && s->complete;
    if (found) {
        t->error_ms[t->found++] = duration_error_ms(s);
    }
    bool hot_right = found && s->hot_kind == hot->kind && s->hot_function == hot->function;
    bool cause_right = found && strcmp(s->cause_said, truth_kind_name(s->cause)) == 0;
    if (bench_options.verbose && (!found || (s->clear && !(hot_right && cause_right)))) {
        print_stall(seed, !found ? "missed" : !hot_right ? "function" : "cause", s);
    } else if (bench_options.verbose && t->error_ms[t->found - 1] > t->error_most_ms) {
        print_stall(seed, "duration", s);
    }
    if (!s->clear) {
        return;
    }
    unsigned one = segment_at(s, TRUTH_THRESHOLD_NS);
    ideal_sampler(s, &ideal, &ideal_cause);
    t->clear++;
    t->hot += hot_right;
    t->cause += cause_right;
    t->hot_one_stack += one == s->hot;
    t->cause_one_stack += s->segment[one].kind == s->cause;
    t->hot_ideal += ideal == s->hot;
    t->cause_ideal += ideal_cause == s->cause;
    t->two_callers += s->two_callers;
    t->hot_two_callers += s->two_callers && hot_right;
}

static double share(unsigned part, unsigned whole) {
    return whole > 0 ? 100.0 * part / whole : NAN;
}

static void print_activity(struct totals *t) {
    static const char one_stack[] = "one stack at the threshold", ideal[] = "ideal sampler, 50 ms";
    double recall = share(t->found, t->runs), hot = share(t->hot, t->clear),
           cause = share(t->cause, t->clear);
    bench_report("truth.recall", recall, "%", 100, t->found == t->runs, NULL, 0);
    bench_report("truth.false_alarms", t->false_alarms, "count", 0, t->false_alarms == 0, NULL, 0);
    bench_report("truth.duration_error_p99", t->error_p99_ms, "ms", 2, t->error_p99_ms <= 2, NULL, 0);
    bench_report("truth.hot", hot, "%", 99, hot >= 99, one_stack, share(t->hot_one_stack, t->clear));
    bench_report("truth.hot_ideal", hot, "%", NAN, true, ideal, share(t->hot_ideal, t->clear));
    bench_report("truth.hot_two_callers", share(t->hot_two_callers, t->two_callers), "%", NAN, true, NULL, 0);
    bench_report("truth.cause", cause, "%", 99, cause >= 99, one_stack, share(t->cause_one_stack, t->clear));
    bench_report("truth.cause_ideal", cause, "%", NAN, true, ideal, share(t->cause_ideal, t->clear));
}

/* Next to the figures by activity, of the same workload. */
static void print_scheme(enum truth_scheme scheme, const struct totals *t, const struct totals *activity) {
    const struct {
        const char *what, *unit;
        double value, target, activity;
        bool ok;
    } figures[] = {
        {"recall", "%", share(t->found, t->runs), 100, share(activity->found, activity->runs),
         t->found == t->runs},
        {"false_alarms", "count", t->false_alarms, 0, activity->false_alarms, t->false_alarms == 0},
        {"duration_error_p99", "ms", t->error_p99_ms, t->error_most_ms, activity->error_p99_ms,
         t->error_p99_ms <= t->error_most_ms},
        {"hot", "%", share(t->hot, t->clear), 99, share(activity->hot, activity->clear),
         share(t->hot, t->clear) >= 99},
        {"cause", "%", share(t->cause, t->clear), 99, share(activity->cause, activity->clear),
         share(t->cause, t->clear) >= 99},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "truth.%s.%s", truth_scheme_name(scheme), figures[i].what);
        bench_report(name, figures[i].value, figures[i].unit, figures[i].target, figures[i].ok, "by activity",
                     figures[i].activity);
    }
}

/* ---- all lanes of one seed ------------------------------------------------------------------ */

static size_t lane_bytes(unsigned capacity) {
    return sizeof(struct truth_lane) + capacity * sizeof(struct truth_stall);
}

static bool run_lanes(struct truth_lane **lane, unsigned lanes, unsigned stalls, const struct workload *w) {
    pid_t pid[LANES_MAX];
    bool done = true;
    for (unsigned i = 0; i < lanes; i++) {
        lane[i]->wanted = stalls / lanes + (i < stalls % lanes);
        lane[i]->capacity = 2 * stalls;
        pid[i] = fork();
        if (pid[i] == 0) {
            run_lane(i, lanes, w, lane[i]);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < lanes; i++) {
        int status = 0;
        while (pid[i] > 0 && waitpid(pid[i], &status, 0) < 0 && errno == EINTR) {
        }
        if (!lane[i]->done) {
            fprintf(stderr,
                    "hangdog-bench: truth: lane %u did not come to its end (status %#x, %u of %u stalls)\n",
                    i, (unsigned)status, lane[i]->clear, lane[i]->wanted);
            done = false;
        }
    }
    return done;
}

static void count_lanes(struct truth_lane **lane, unsigned lanes, uint64_t seed, struct totals *t) {
    for (unsigned i = 0; i < lanes; i++) {
        for (unsigned n = 0; n < lane[i]->runs; n++) {
            count_stall(seed, &lane[i]->stall[n], t);
        }
        t->false_alarms += lane[i]->false_alarms;
        t->quiet_turns += lane[i]->quiet_turns;
    }
    if (bench_options.verbose) {
        fprintf(
            stderr,
            "truth: seed %llu: %u stalls, %u as planned, %u of two callers, %u turns below the threshold\n",
            (unsigned long long)seed, t->runs, t->clear, t->two_callers, t->quiet_turns);
    }
}

static int run_workload(const struct workload *w, struct totals *t) {
    unsigned stalls = bench_options.fast ? STALLS_FAST : STALLS;
    unsigned lanes = bench_options.lanes < LANES_MAX ? bench_options.lanes : LANES_MAX;
    size_t bytes = (lane_bytes(2 * stalls) + 4095) & ~(size_t)4095;
    struct truth_lane *lane[LANES_MAX];
    *t = (struct totals){.error_ms = calloc(2 * (size_t)stalls * lanes, sizeof(double)),
                         .error_most_ms = w->scheme == TRUTH_PING ? PING_ERROR_MS : 2};
    uint8_t *memory = mmap(NULL, lanes * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || t->error_ms == NULL) {
        fprintf(stderr, "hangdog-bench: truth: out of memory\n");
        free(t->error_ms);
        return 1;
    }
    for (unsigned i = 0; i < lanes; i++) {
        lane[i] = (struct truth_lane *)(void *)(memory + i * bytes);
    }
    bool done = run_lanes(lane, lanes, stalls, w);
    if (done) {
        count_lanes(lane, lanes, w->seed, t);
        t->error_p99_ms = bench_percentile(t->error_ms, t->found, 99);
    }
    munmap(memory, lanes * bytes);
    free(t->error_ms);
    return done ? 0 : 1;
}

/* One scheme after the other, so that no loop takes another's CPU. */
static int run_seed(uint64_t seed) {
    struct totals of[TRUTH_SCHEMES];
    int rc = 0;
    for (enum truth_scheme scheme = TRUTH_ACTIVITY; scheme < TRUTH_SCHEMES; scheme++) {
        const struct workload w = {.seed = seed, .scheme = scheme};
        if (run_workload(&w, &of[scheme]) != 0) {
            rc = 1;
            if (scheme == TRUTH_ACTIVITY) {
                return rc;
            }
            continue;
        }
        bench_set_seed(seed);
        if (scheme == TRUTH_ACTIVITY) {
            print_activity(&of[scheme]);
        } else {
            print_scheme(scheme, &of[scheme], &of[TRUTH_ACTIVITY]);
        }
        bench_set_seed(0);
    }
    return rc;
}

int bench_truth(void) {
    int rc = 0;
    for (unsigned i = 0; i < bench_options.seeds; i++) {
        rc = run_seed(bench_options.seed[i]) != 0 ? 1 : rc;
    }
    return rc;
}
