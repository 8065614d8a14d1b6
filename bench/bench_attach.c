/* SPDX-License-Identifier: MIT
 *
 * What `hangdog attach` costs by each way: a wait, another call and a switch, in the watched program and in
 * one that is not watched (programs/costs.c). Rounds with a watcher alternate with rounds without one.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "bench_attach.h"
#include "programs/costs.h"

#define ROUNDS_MAX 9
#define BATCHES 200

enum {
    WATCHED,
    OTHER,
    PROGRAMS
};
static const char *const kinds[] = {COSTS_WAIT, COSTS_CALL, COSTS_SWITCH};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* Targets in ns, NAN: none. A question and its answer are two switches. */
static const struct {
    const char *way;
    double target[KINDS][PROGRAMS];
} ways[] = {
    {"fentry", {{400, 250}, {0, 0}, {NAN, NAN}}}, {"switches", {{NAN, NAN}, {0, 0}, {600, 600}}},
    {"counter", {{NAN, NAN}, {0, 0}, {NAN, 0}}},  {"records", {{NAN, NAN}, {0, 0}, {NAN, NAN}}},
    {"looks", {{NAN, NAN}, {0, 0}, {NAN, 0}}},
};
/* Below this many ns a cost of 0 is noise. */
#define NOISE_NS 15

/* ---- the watcher ------------------------------------------------------------------------------ */

static bool lives(const struct bench_program *p) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

int bench_attach_start(struct bench_program *p, const char *way, const char *whom, double seconds) {
    char hangdog[BENCH_PATH], spool[BENCH_PATH];
    char *argv[] = {hangdog,
                    "attach",
                    "--quiet",
                    "--spool",
                    spool,
                    "--hook",
                    (char *)(uintptr_t)way,
                    (char *)(uintptr_t)whom,
                    NULL};
    if (way == NULL) {
        argv[5] = argv[7];
        argv[6] = NULL;
    }
    p->pid = 0;
    if (bench_folder_make(spool) != 0) {
        return 1;
    }
    bench_path_next_to_self(hangdog, "hangdog");
    int rc = bench_program_start(p, argv, false, true, -1);
    memcpy(p->spool, spool, sizeof spool); /* bench_attach_end removes it */
    if (rc != 0) {
        return rc;
    }
    for (int tenths = (int)(10 * seconds); tenths > 0 && lives(p); tenths--) {
        bench_sleep_ns(100 * BENCH_MS);
    }
    return lives(p) ? 0 : 1;
}

void bench_attach_end(struct bench_program *p) {
    if (p->pid > 0) {
        kill(p->pid, SIGINT);
    }
    bench_program_end(p);
}

/* ---- rounds ----------------------------------------------------------------------------------- */

/* NAN where the program does not answer. */
static double ask(const struct bench_program *p, const char *kind) {
    char text[64];
    int n = snprintf(text, sizeof text, "%s %d\n", kind, bench_options.fast ? 20 : BATCHES);
    if (write(p->in, text, (size_t)n) != n || (n = (int)read(p->out, text, sizeof text - 1)) <= 0) {
        return NAN;
    }
    text[n] = '\0';
    return strtod(text, NULL);
}

struct costs {
    double ns[KINDS][PROGRAMS];
};

static bool ask_all(const struct bench_program *programs, struct costs *out) {
    bool all = true;
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t p = 0; p < PROGRAMS; p++) {
            out->ns[k][p] = ask(&programs[p], kinds[k]);
            all = all && isfinite(out->ns[k][p]);
        }
    }
    return all;
}

static void report(size_t way, struct costs *with, struct costs *without, unsigned rounds) {
    char name[64];
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t p = 0; p < PROGRAMS; p++) {
            double more[ROUNDS_MAX], base[ROUNDS_MAX], target = ways[way].target[k][p];
            for (unsigned r = 0; r < rounds; r++) {
                base[r] = without[r].ns[k][p];
                more[r] = with[r].ns[k][p] - base[r];
            }
            double value = bench_median(more, rounds);
            double usual = bench_median(base, rounds);
            snprintf(name, sizeof name, "attach.%s.%s%s", ways[way].way, kinds[k],
                     p == OTHER ? ".other" : "");
            bench_report(name, value, "ns", target,
                         isnan(target) || value <= fmax(target, fmax(NOISE_NS, 0.03 * usual)),
                         "nothing attached", usual);
        }
    }
}

/* False: this way cannot be used here. */
static bool measure(size_t way, const struct bench_program *programs) {
    static struct costs with[ROUNDS_MAX], without[ROUNDS_MAX];
    unsigned rounds = bench_options.fast ? 1 : ROUNDS_MAX, done = 0;
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)programs[WATCHED].pid);
    for (; done < rounds; done++) {
        struct bench_program watcher;
        bool ok = ask_all(programs, &without[done]);
        ok = bench_attach_start(&watcher, ways[way].way, pid, 2) == 0 && ok && ask_all(programs, &with[done]);
        bench_attach_end(&watcher);
        if (!ok) {
            break;
        }
    }
    if (done < rounds) {
        char name[64];
        snprintf(name, sizeof name, "attach.%s", ways[way].way);
        bench_report(name, NAN, "ns", NAN, true, "not measured: this way cannot be used here", NAN);
        return false;
    }
    report(way, with, without, rounds);
    return true;
}

int bench_attach(void) {
    struct bench_program programs[PROGRAMS];
    char path[BENCH_PATH], cpu[16];
    char *argv[] = {path, cpu, NULL};
    int first, last, rc = 0;
    bench_two_processors(&first, &last);
    bench_path_next_to_self(path, "../bench/costs");
    snprintf(cpu, sizeof cpu, "%d", last);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        rc = bench_program_start(&programs[i], argv, false, true, -1) != 0 ? 1 : rc;
    }
    for (size_t way = 0; rc == 0 && way < sizeof ways / sizeof ways[0]; way++) {
        measure(way, programs);
    }
    for (unsigned i = 0; i < PROGRAMS; i++) {
        bench_program_end(&programs[i]);
    }
    return rc != 0 ? rc : bench_attach_load();
}
