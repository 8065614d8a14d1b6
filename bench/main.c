/* SPDX-License-Identifier: MIT
 *
 * hangdog-bench: runs the benches that are named, or all, each in a process of its own so that none finds
 * what another left behind. Prints one figure a line, as JSON or as a table.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum {
    STATUS_MET,
    STATUS_MISSED,
    STATUS_USAGE,
    STATUS_NOT_MEASURED
};

struct bench_options bench_options;

static unsigned *missed; /* of all benches: their processes share it */
static uint64_t seed_now;

static const struct {
    const char *name;
    int (*run)(void);
} benches[] = {
    {"mark", bench_mark},           {"turn", bench_turn},     {"pause", bench_pause},
    {"unwind", bench_unwind},       {"idle", bench_idle},     {"hang-cpu", bench_hang_cpu},
    {"truth", bench_truth},         {"quiet", bench_quiet},   {"real.redis", bench_real_redis},
    {"real.node", bench_real_node}, {"attach", bench_attach},
#ifdef BENCH_FLEET
    {"query", bench_query},         {"ingest", bench_ingest}, {"grouping", bench_grouping},
#endif
};
#define BENCHES (sizeof benches / sizeof benches[0])

/* ---- figures -------------------------------------------------------------------------------- */

void bench_set_seed(uint64_t seed) {
    seed_now = seed;
}

static void json_number(const char *name, double value) {
    if (isfinite(value)) {
        printf(",\"%s\":%.6g", name, value);
    } else {
        printf(",\"%s\":null", name);
    }
}

static void print_json(const char *name, double value, const char *unit, double target, bool ok,
                       const char *peer, double peer_value) {
    printf("{\"name\":\"%s\"", name);
    json_number("value", value);
    printf(",\"unit\":\"%s\"", unit);
    json_number("target", target);
    printf(",\"ok\":%s", ok ? "true" : "false");
    if (peer != NULL) {
        printf(",\"peer\":\"%s\"", peer);
    } else {
        printf(",\"peer\":null");
    }
    json_number("peer_value", peer != NULL ? peer_value : NAN);
    if (seed_now != 0) {
        printf(",\"seed\":%llu", (unsigned long long)seed_now);
    }
    printf("}\n");
}

static const char *number(char *text, size_t size, double value) {
    if (isfinite(value)) {
        snprintf(text, size, "%.4g", value);
    } else {
        snprintf(text, size, "-");
    }
    return text;
}

static void print_head(void) {
    printf("%-28s %10s  %-10s %10s  %-6s  %10s  %s\n", "figure", "value", "unit", "target", "", "peer", "");
}

static void print_row(const char *name, double value, const char *unit, double target, bool ok,
                      const char *peer, double peer_value) {
    char a[32], b[32], c[32], named[96];
    if (seed_now != 0) {
        snprintf(named, sizeof named, "%s #%llu", name, (unsigned long long)seed_now);
    } else {
        snprintf(named, sizeof named, "%s", name);
    }
    printf("%-28s %10s  %-10s %10s  %-6s  %10s  %s\n", named, number(a, sizeof a, value), unit,
           number(b, sizeof b, target),
           isnan(target) ? ""
           : ok          ? "ok"
                         : "MISSED",
           number(c, sizeof c, peer != NULL ? peer_value : NAN), peer != NULL ? peer : "");
}

void bench_report(const char *name, double value, const char *unit, double target, bool ok, const char *peer,
                  double peer_value) {
    *missed += !ok;
    (bench_options.table ? print_row : print_json)(name, value, unit, target, ok, peer, peer_value);
    fflush(stdout);
}

/* ---- running -------------------------------------------------------------------------------- */

/* True when bench `i` could measure. */
static bool run(size_t i) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) {
        fprintf(stderr, "hangdog-bench: cannot start %s: %s\n", benches[i].name, strerror(errno));
        return false;
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM); /* nothing goes on when we are ended */
        exit(benches[i].run() == 0 ? STATUS_MET : STATUS_NOT_MEASURED);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "hangdog-bench: %s ended by signal %d (%s)\n", benches[i].name, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == STATUS_MET;
}

/* "real" is all that are called "real.…". */
static bool is_named(size_t i, const char *name) {
    size_t n = strlen(name);
    return strncmp(benches[i].name, name, n) == 0 &&
           (benches[i].name[n] == '\0' || benches[i].name[n] == '.');
}

/* The first bench of that name from `i` on. */
static size_t find(size_t i, const char *name) {
    while (i < BENCHES && !is_named(i, name)) {
        i++;
    }
    return i;
}

/* ---- command line --------------------------------------------------------------------------- */

static const char usage_text[] =
    "usage: hangdog-bench [--table] [--seed N]... [--lanes N] [--fast] [--verbose] [NAME...]\n"
    "\n"
    "Measures Hangdog beside its peers and limits in the same run. Every figure is one JSON line on stdout.\n"
    "\n"
    "  --table     aligned columns, for people\n"
    "  --seed N    the workload of `truth`; may be given several times; default 1\n"
    "  --lanes N   processes side by side in `truth`; default 2, with one processor 1\n"
    "  --reports N the most reports of `query`, default 1000000, and of `ingest`, 40000\n"
    "  --stores D  a folder in which `query` keeps its stores for the next run, which fills none that is there\n"
    "  --fast      shorter runs, to see that all works: not for the figures\n"
    "  --verbose   what a figure is made of, and each miss, on stderr\n"
    "\n"
    "names: mark turn pause unwind idle hang-cpu truth quiet real attach query ingest grouping (all by default)\n"
    "exit status: 0 every target was met, 1 one was missed, 2 wrong usage, 3 one was not measured\n";

static int usage(const char *what, const char *value) {
    if (what != NULL) {
        fprintf(stderr, "hangdog-bench: %s%s; see hangdog-bench --help\n", what, value);
    }
    return STATUS_USAGE;
}

static bool parse(const char *text, uint64_t max, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *out > 0 && *out <= max;
}

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv) {
    static const struct option options[] = {
        {"table", no_argument, NULL, 't'},
        {"seed", required_argument, NULL, 's'},
        {"fast", no_argument, NULL, 'f'},
        {"lanes", required_argument, NULL, 'l'},
        {"reports", required_argument, NULL, 'r'},
        {"verbose", no_argument, NULL, 'v'},
        {"stores", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    uint64_t value;
    int c;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 't':
            bench_options.table = true;
            break;
        case 'f':
            bench_options.fast = true;
            break;
        case 'v':
            bench_options.verbose = true;
            break;
        case 's':
            if (bench_options.seeds == BENCH_SEEDS_MAX || !parse(optarg, UINT64_MAX, &value)) {
                return usage("--seed wants a number from 1 on, at most 16 times, not ", optarg);
            }
            bench_options.seed[bench_options.seeds++] = value;
            break;
        case 'l':
            if (!parse(optarg, 64, &value)) {
                return usage("--lanes wants a number from 1 to 64, not ", optarg);
            }
            bench_options.lanes = (unsigned)value;
            break;
        case 'r':
            if (!parse(optarg, 1000000000, &value)) {
                return usage("--reports wants a number from 1 on, not ", optarg);
            }
            bench_options.reports = (size_t)value;
            break;
        case 'k':
            bench_options.stores = optarg;
            break;
        case 'h':
            fputs(usage_text, stdout);
            return STATUS_MET;
        default:
            return usage(NULL, NULL); /* getopt said it */
        }
    }
    return -1;
}

int main(int argc, char **argv) {
    bool all_measured = true;
    int rc = parse_options(argc, argv);
    if (rc >= 0) {
        return rc;
    }
    for (int i = optind; i < argc; i++) {
        if (find(0, argv[i]) == BENCHES) {
            return usage("no bench is called ", argv[i]);
        }
    }
    if (bench_options.seeds == 0) {
        bench_options.seed[bench_options.seeds++] = 1;
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (bench_options.lanes == 0) {
        bench_options.lanes = processors > 1 ? 2 : 1;
    }
    missed = mmap(NULL, sizeof *missed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (missed == MAP_FAILED) {
        perror("hangdog-bench: mapping a page");
        return STATUS_NOT_MEASURED;
    }
    if (bench_options.table) {
        print_head();
    }
    for (size_t i = 0; optind == argc && i < BENCHES; i++) {
        all_measured = run(i) && all_measured;
    }
    for (int i = optind; i < argc; i++) {
        for (size_t b = find(0, argv[i]); b < BENCHES; b = find(b + 1, argv[i])) {
            all_measured = run(b) && all_measured;
        }
    }
    if (bench_options.table) {
        printf("targets missed: %u\n", *missed);
    }
    if (!all_measured) {
        return STATUS_NOT_MEASURED;
    }
    return *missed == 0 ? STATUS_MET : STATUS_MISSED;
}
