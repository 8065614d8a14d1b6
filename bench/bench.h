/* SPDX-License-Identifier: MIT
 *
 * What every bench uses: the options of the command line, figures, clocks and statistics. Each bench is a
 * function that runs in a process of its own, reports its figures and returns 0; anything else means that it
 * could not measure, and it has said why on stderr.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_SEEDS_MAX 16
#define BENCH_MS 1000000ULL
#define BENCH_S 1000000000ULL

struct bench_options {
    bool table;         /* aligned columns instead of JSON lines */
    bool verbose;       /* what a figure is made of, and each miss, on stderr */
    bool fast;          /* shorter: to see that all works, not for the figures */
    size_t reports;     /* of `query` and `ingest`, the most; 0: usual */
    const char *stores; /* the folder where `query` keeps its stores; NULL: they are removed */
    unsigned lanes;     /* processes side by side in `truth` */
    uint64_t seed[BENCH_SEEDS_MAX];
    unsigned seeds;
};
extern struct bench_options bench_options;

/* One figure. `target` NAN: none is set, and `ok` is true. `peer` NULL: nothing to compare with. */
void bench_report(const char *name, double value, const char *unit, double target, bool ok, const char *peer,
                  double peer_value);

/* From here on every figure carries this seed; 0: none. */
void bench_set_seed(uint64_t seed);

/* The benches. */
int bench_mark(void);
int bench_turn(void);
int bench_turn_preload(void); /* a part of `turn` */
int bench_pause(void);
int bench_unwind(void);
int bench_idle(void);
int bench_hang_cpu(void);
int bench_truth(void);
int bench_quiet(void);
int bench_real_redis(void);
int bench_real_node(void);
int bench_attach(void);
int bench_query(void); /* these: where the collector is built */
int bench_ingest(void);
int bench_grouping(void);

/* CLOCK_MONOTONIC, and the calling thread's CPU time. */
uint64_t bench_now_ns(void);
uint64_t bench_thread_cpu_ns(void);
void bench_sleep_ns(uint64_t ns);

/* Sorts `values`. The percentile is the smallest value that `percent` of all do not exceed. NAN when there
 * are none. */
double bench_median(double *values, size_t count);
double bench_percentile(double *values, size_t count, double percent);

/* The same code, timed many times in turn with others: A B C, C B A, A B C ... A variant is run as a whole,
 * and returns how long it took in nanoseconds. */
#define BENCH_VARIANTS_MAX 8
typedef double (*bench_variant)(void *arg, unsigned repeats);
struct bench_rounds {
    unsigned count; /* of variants */
    unsigned rounds, repeats;
    double *ns[BENCH_VARIANTS_MAX]; /* per repeat, by round; bench_rounds_free gives them back */
    double median[BENCH_VARIANTS_MAX];
};
int bench_rounds_run(struct bench_rounds *r, const bench_variant *variants, void *arg);
/* Median of what variant `a` costs more than `b` in the same round. */
double bench_rounds_more(const struct bench_rounds *r, unsigned a, unsigned b);
void bench_rounds_free(struct bench_rounds *r);

/* What the library's own threads in this process have cost so far. False: none is there. */
struct bench_threads {
    unsigned count;
    uint64_t monitor_cpu_ns, worker_cpu_ns;
    uint64_t monitor_waits, worker_waits; /* voluntary switches: each is a wake-up later */
};
bool bench_own_threads(struct bench_threads *out);

/* A folder on a real disk for this process, removed with all files in it by bench_folder_remove. */
#define BENCH_PATH 512
int bench_folder_make(char *path);
void bench_folder_remove(const char *path);

/* Starts the library with reports into `folder`, all caps off, and watches the calling thread's loop, past
 * its launch: idle. NULL: it said why. `threshold_ns` 0: the default. */
struct hangdog_loop;
struct hangdog_loop *bench_watch(const char *folder, uint64_t threshold_ns);

#endif
