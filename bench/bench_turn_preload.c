/* SPDX-License-Identifier: MIT
 *
 * What a turn costs more in a program that nobody rebuilt: the same program as it is and under `hangdog run`,
 * its loop recognised beyond doubt before. Several sets of three processes, since each process has its own
 * luck with addresses and pages: plain, watched, plain again. They run their turns one after the other on one
 * processor.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "bench_run.h"
#include "programs/turns.h"

enum {
    PLAIN,
    WATCHED,
    AGAIN,
    KINDS
};
#define SETS 7
#define ROUNDS_MAX 100

struct set {
    struct bench_program program[KINDS];
    double ns[KINDS][ROUNDS_MAX]; /* of a turn */
};

/* What so many turns took, each, in nanoseconds; NAN when it cannot be told. */
static double ask(const struct bench_program *p, struct turns_wanted wanted) {
    double took;
    if (write(p->in, &wanted, sizeof wanted) != sizeof wanted ||
        read(p->out, &took, sizeof took) != sizeof took) {
        return NAN;
    }
    return took / (wanted.waiting + wanted.empty);
}

static bool run_rounds(struct set *sets, unsigned rounds, struct turns_wanted wanted) {
    bool all = true;
    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned s = 0; s < SETS; s++) {
            for (unsigned n = 0; n < KINDS; n++) {
                unsigned kind = r % 2 == 0 ? n : KINDS - 1 - n;
                const struct bench_program *p = &sets[s].program[kind];
                struct turns_wanted few = {(wanted.waiting + 9) / 10, (wanted.empty + 9) / 10};
                ask(p, few); /* it may have slept, and its monitor with it */
                sets[s].ns[kind][r] = ask(p, wanted);
                all = all && isfinite(sets[s].ns[kind][r]);
            }
        }
    }
    return all;
}

/* Median of what `a` costs more than `b` in the same round, of the median of `b`: in percent. */
static double more(const struct set *s, unsigned a, unsigned b, unsigned rounds) {
    double difference[ROUNDS_MAX], base[ROUNDS_MAX];
    for (unsigned r = 0; r < rounds; r++) {
        difference[r] = s->ns[a][r] - s->ns[b][r];
        base[r] = s->ns[b][r];
    }
    return 100 * bench_median(difference, rounds) / bench_median(base, rounds);
}

static int measure(struct set *sets, const char *name, struct turns_wanted wanted, double target) {
    unsigned rounds = bench_options.fast ? 10 : ROUNDS_MAX;
    double watched[SETS], again[SETS], plain_ns[SETS];
    if (!run_rounds(sets, rounds, wanted)) {
        fprintf(stderr, "hangdog-bench: %s was not measured: a program ended early\n", name);
        return 1;
    }
    for (unsigned s = 0; s < SETS; s++) {
        watched[s] = (more(&sets[s], WATCHED, PLAIN, rounds) + more(&sets[s], WATCHED, AGAIN, rounds)) / 2;
        again[s] = more(&sets[s], AGAIN, PLAIN, rounds);
        plain_ns[s] = bench_median(sets[s].ns[PLAIN], rounds);
    }
    double value = bench_median(watched, SETS);
    bench_report(name, value, "%", target, value <= target, "the same program twice",
                 bench_median(again, SETS));
    if (bench_options.verbose) {
        fprintf(stderr,
                "%s: a turn %.1f ns; %d sets, watched %+.2f to %+.2f %%, unwatched %+.2f to %+.2f %%\n", name,
                bench_median(plain_ns, SETS), SETS, watched[0], watched[SETS - 1], again[0], again[SETS - 1]);
    }
    return 0;
}

static int start(struct set *sets) {
    char path[BENCH_PATH], cpu_text[16];
    int first, cpu;
    bench_two_processors(&first, &cpu);
    bench_path_next_to_self(path, "../bench/turns");
    snprintf(cpu_text, sizeof cpu_text, "%d", cpu);
    char *argv[] = {path, cpu_text, NULL};
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < SETS * KINDS; i++) {
        unsigned kind = i % KINDS;
        rc = bench_program_start(&sets[i / KINDS].program[kind], argv, kind == WATCHED, true, -1);
    }
    for (unsigned s = 0; rc == 0 && s < SETS; s++) {
        rc = bench_program_sure(&sets[s].program[WATCHED]);
    }
    return rc;
}

int bench_turn_preload(void) {
    struct set *sets = calloc(SETS, sizeof *sets);
    if (sets == NULL) {
        fprintf(stderr, "hangdog-bench: out of memory\n");
        return 1;
    }
    for (unsigned i = 0; i < SETS * KINDS; i++) {
        sets[i / KINDS].program[i % KINDS] = (struct bench_program){.in = -1, .out = -1};
    }
    int rc = start(sets);
    rc = rc == 0 ? measure(sets, "turn.preload.waiting", (struct turns_wanted){.waiting = 5000}, 8) : rc;
    rc = rc == 0 ? measure(sets, "turn.preload.empty", (struct turns_wanted){.empty = 25000}, 25) : rc;
    for (unsigned i = 0; i < SETS * KINDS; i++) {
        bench_program_end(&sets[i / KINDS].program[i % KINDS]);
    }
    free(sets);
    return rc;
}
