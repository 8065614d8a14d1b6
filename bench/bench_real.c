/* SPDX-License-Identifier: MIT
 *
 * What watching costs real servers: redis-server under redis-benchmark, and a small HTTP server on Node under
 * wrk, each as it is and under `hangdog run`, in turn. Several sets of three servers, since each process has
 * its own luck: plain, watched, plain again. Servers and clients have a processor each where there are two.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "bench_run.h"

enum {
    PLAIN,
    WATCHED,
    AGAIN,
    KINDS
};
static const char *const kind_names[KINDS] = {"unwatched", "watched", "unwatched again"};
#define PAIRS_MAX 128 /* of all sets */
#define RUNS_MAX 16   /* of each server in a pair */
#define RESAMPLES 1000
#define TARGET 1
#define SPREAD_PERCENT 2 /* how far apart `.from` and `.to` lie at most where a figure tells its target */

struct load {
    double throughput, p99; /* a second; in microseconds */
};

struct server {
    struct bench_program program;
    int port;
};

struct real {
    const char *name, *server_path, *client_path;
    /* Short runs and many: what else the machine does comes and goes. */
    unsigned sets, pairs, runs; /* pairs of each set, at least; runs of each server in a pair */
    double seconds;             /* of a run */
    int (*start)(struct server *s, bool watched, int cpu);
    /* For about so many seconds. NAN where the client did not say. */
    struct load (*run)(const struct server *s, double seconds, int cpu);
};

/* ---- clients ------------------------------------------------------------------------------- */

static int free_port(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &n) != 0) {
        at.sin_port = 0;
    }
    close(fd);
    return ntohs(at.sin_port);
}

static bool answers(int port) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    return connected;
}

/* All that the client says on its standard output. */
static void output_of(char *const argv[], int cpu, char *text, size_t size) {
    struct bench_program client;
    size_t n = 0;
    ssize_t got;
    if (bench_program_start(&client, argv, false, true, cpu) == 0) {
        while (n < size - 1 && (got = read(client.out, text + n, size - 1 - n)) > 0) {
            n += (size_t)got;
        }
    }
    text[n] = '\0';
    bench_program_end(&client);
}

/* ---- redis --------------------------------------------------------------------------------- */

static int start_redis(struct server *s, bool watched, int cpu) {
    char port[16];
    char *argv[] = {"/usr/bin/redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", NULL};
    snprintf(port, sizeof port, "%d", s->port);
    return bench_program_start(&s->program, argv, watched, false, cpu);
}

static struct load run_redis(const struct server *s, double seconds, int cpu) {
    static double rate = 50000; /* as it was in the last run: the client wants a number, not a time */
    char port[16], count[16], text[4096];
    double value[6]; /* throughput, average, least, p50, p95, p99 */
    char *argv[] = {"/usr/bin/redis-benchmark", "-p", port, "-t", "get", "-n", count, "--csv", NULL};
    snprintf(port, sizeof port, "%d", s->port);
    snprintf(count, sizeof count, "%.0f", seconds * rate);
    output_of(argv, cpu, text, sizeof text);
    const char *line = strstr(text, "\"GET\"");
    line = line != NULL ? line + strlen("\"GET\"") : "";
    for (size_t i = 0; i < 6; i++) {
        char *end = NULL;
        value[i] = strncmp(line, ",\"", 2) == 0 ? strtod(line + 2, &end) : NAN;
        if (end == NULL || *end != '"') {
            return (struct load){NAN, NAN};
        }
        line = end + 1;
    }
    rate = value[0];
    return (struct load){value[0], 1000 * value[5]};
}

/* ---- Node ---------------------------------------------------------------------------------- */

static int start_node(struct server *s, bool watched, int cpu) {
    char script[160];
    char *argv[] = {"/usr/bin/node", "-e", script, NULL};
    snprintf(script, sizeof script,
             "require('http').createServer((q, s) => s.end('hello\\n')).listen(%d, '127.0.0.1')", s->port);
    return bench_program_start(&s->program, argv, watched, false, cpu);
}

/* wrk's own report rounds to two digits behind the point of a millisecond; a script is told microseconds. */
static const char wrk_script[] =
    "done = function(s, latency) io.write('rate ', s.requests / s.duration * 1e6, ' p99 ', latency:percentile(99), '\\n') end";

static const char *script_path(void) {
    static char path[64];
    if (path[0] == '\0') {
        int fd = memfd_create("wrk.lua", MFD_CLOEXEC); /* for the life of this process */
        if (fd >= 0 && write(fd, wrk_script, sizeof wrk_script - 1) == (ssize_t)sizeof wrk_script - 1) {
            snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
        }
    }
    return path;
}

static struct load run_node(const struct server *s, double seconds, int cpu) {
    char url[64], time[16], script[64], text[4096];
    char *argv[] = {"/usr/bin/wrk", "-t1", "-c16", "-d", time, "-s", script, url, NULL};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", s->port);
    snprintf(time, sizeof time, "%.0fs", ceil(seconds));
    snprintf(script, sizeof script, "%s", script_path());
    output_of(argv, cpu, text, sizeof text);
    const char *rate = strstr(text, "rate "), *p99 = strstr(text, " p99 ");
    if (rate == NULL || p99 == NULL) {
        return (struct load){NAN, NAN};
    }
    return (struct load){strtod(rate + strlen("rate "), NULL), strtod(p99 + strlen(" p99 "), NULL)};
}

/* --------------------------------------------------------------------------------------------- */

static int start(const struct real *r, struct server servers[KINDS], int client_cpu, int server_cpu) {
    for (unsigned i = 0; i < KINDS; i++) {
        struct server *s = &servers[i];
        s->port = free_port();
        int rc = r->start(s, i == WATCHED, server_cpu);
        for (int ms = 0; rc == 0 && !answers(s->port); ms += 10) {
            rc = ms > 10000 ? -ETIMEDOUT : 0;
            bench_sleep_ns(10 * BENCH_MS);
        }
        if (rc != 0) {
            fprintf(stderr, "hangdog-bench: %s did not answer on port %d\n", r->server_path, s->port);
            return rc;
        }
    }
    /* All are warmed alike: young servers on Node have twice the 99th percentile. A loop is sure when it has
     * waited again after ten seconds. */
    uint64_t until = bench_now_ns() + 12 * BENCH_S;
    do {
        for (unsigned i = 0; i < KINDS; i++) {
            r->run(&servers[i], r->seconds, client_cpu);
        }
    } while (bench_now_ns() < until);
    return bench_program_sure(&servers[WATCHED].program);
}

/* The mean of the best fourth: a percentile comes in steps, which a quartile alone would show. What the
 * machine does to a run from outside only makes it worse (a run of Node alone: 500 us, and up to 4,000), what
 * watching does is in every run. */
static double undisturbed(const double *values, unsigned count, bool less_is_better) {
    double sorted[RUNS_MAX], sum = 0;
    unsigned of = (count + 3) / 4;
    memcpy(sorted, values, count * sizeof sorted[0]);
    bench_median(sorted, count);
    for (unsigned i = 0; i < of; i++) {
        sum += sorted[less_is_better ? i : count - 1 - i];
    }
    return sum / of;
}

/* What one figure of a pair says: the watched server against the unwatched two, and these against each other.
 */
struct pair {
    double watched, again; /* percent more */
};

static struct pair compare(double runs[KINDS][RUNS_MAX], unsigned count, bool less_is_better) {
    double of[KINDS];
    for (unsigned i = 0; i < KINDS; i++) {
        of[i] = undisturbed(runs[i], count, less_is_better);
    }
    return (struct pair){100 * (2 * of[WATCHED] / (of[PLAIN] + of[AGAIN]) - 1),
                         100 * (of[AGAIN] / of[PLAIN] - 1)};
}

/* Where nine of ten medians lie of as many values, drawn from these with replacement. */
static void spread(const double *values, unsigned count, double *low, double *high) {
    static double medians[RESAMPLES];
    uint64_t state = 1; /* the same each time */
    for (unsigned i = 0; i < RESAMPLES; i++) {
        double drawn[PAIRS_MAX];
        for (unsigned k = 0; k < count; k++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            drawn[k] = values[(state >> 33) % count];
        }
        medians[i] = bench_median(drawn, count);
    }
    *low = bench_percentile(medians, RESAMPLES, 5);
    *high = bench_percentile(medians, RESAMPLES, 95);
}

/* What the pairs say, in percent worse, and between which limits that is. */
struct spread_of {
    double value, from, to;
};

static struct spread_of median_of(const double *values, unsigned count) {
    struct spread_of result;
    double sorted[PAIRS_MAX];
    spread(values, count, &result.from, &result.to);
    memcpy(sorted, values, count * sizeof sorted[0]);
    result.value = bench_median(sorted, count);
    return result;
}

/* One figure of all pairs. */
struct figure {
    const char *what;
    int sign; /* -1: less is worse */
    unsigned count;
    double watched[PAIRS_MAX], again[PAIRS_MAX]; /* percent worse */
};

static void add(struct figure *f, double runs[KINDS][RUNS_MAX], unsigned count) {
    struct pair pair = compare(runs, count, f->sign > 0);
    f->watched[f->count] = f->sign * pair.watched;
    f->again[f->count++] = f->sign * pair.again;
}

static bool is_steady(const struct figure *f) {
    struct spread_of result = median_of(f->watched, f->count);
    return result.to - result.from <= SPREAD_PERCENT;
}

static void report(const char *name, const struct figure *f) {
    char figure[64], part[80];
    struct spread_of watched = median_of(f->watched, f->count), again = median_of(f->again, f->count);
    snprintf(figure, sizeof figure, "real.%s.%s", name, f->what);
    bench_report(figure, watched.value, "%", TARGET, watched.value <= TARGET, "unwatched twice", again.value);
    snprintf(part, sizeof part, "%s.from", figure);
    bench_report(part, watched.from, "%", NAN, true, "unwatched twice", again.from);
    snprintf(part, sizeof part, "%s.to", figure);
    bench_report(part, watched.to, "%", NAN, true, "unwatched twice", again.to);
}

/* Runs of the three servers of a set, in turn: A B C, C B A, ... False where a client did not say. */
static bool run_pair(const struct real *r, unsigned set, unsigned pair, const struct server servers[KINDS],
                     int cpu, struct figure *throughput, struct figure *p99) {
    double rate[KINDS][RUNS_MAX], late[KINDS][RUNS_MAX];
    for (unsigned i = 0; i < r->runs * KINDS; i++) {
        unsigned round = i / KINDS, at = i % KINDS;
        unsigned kind = (set + pair + round) % 2 == 0 ? at : KINDS - 1 - at;
        struct load load = r->run(&servers[kind], r->seconds, cpu);
        if (!isfinite(load.throughput) || !isfinite(load.p99) || load.p99 <= 0) {
            fprintf(stderr, "hangdog-bench: %s did not say what it measured\n", r->client_path);
            return false;
        }
        rate[kind][round] = load.throughput;
        late[kind][round] = load.p99;
        if (bench_options.verbose) {
            fprintf(stderr, "real.%s: set %u, %s: %.0f a second, 99th percentile %.0f us\n", r->name, set,
                    kind_names[kind], load.throughput, load.p99);
        }
    }
    add(throughput, rate, r->runs);
    add(p99, late, r->runs);
    return true;
}

/* The pairs of one set of servers, which live no longer: a server on Node that nobody asked for some minutes
 * has lost a fourth of its throughput, and finds it again or not. */
static int measure_set(const struct real *r, unsigned set, struct figure *throughput, struct figure *p99) {
    struct server servers[KINDS];
    int client_cpu, server_cpu;
    bench_two_processors(&client_cpu, &server_cpu);
    for (unsigned i = 0; i < KINDS; i++) {
        servers[i] = (struct server){.program = {.in = -1, .out = -1}};
    }
    int rc = start(r, servers, client_cpu, server_cpu);
    for (unsigned n = 0; rc == 0 && n < r->pairs; n++) {
        rc = run_pair(r, set, n, servers, client_cpu, throughput, p99) ? 0 : 1;
    }
    for (unsigned i = 0; i < KINDS; i++) {
        bench_program_end(&servers[i].program);
    }
    return rc;
}

/* The least number of sets, and more where their pairs do not tell yet. When it is enough is asked of how far
 * apart they are, never of what they say. */
static int measure(const struct real *r) {
    static struct figure throughput = {.what = "throughput", .sign = -1}, p99 = {.what = "p99", .sign = 1};
    for (unsigned set = 0;
         set < r->sets || (throughput.count + r->pairs <= PAIRS_MAX && !bench_options.fast &&
                           (!is_steady(&throughput) || !is_steady(&p99)));
         set++) {
        int rc = measure_set(r, set, &throughput, &p99);
        if (rc != 0 && set < r->sets) {
            return rc;
        }
        if (rc != 0) {
            break; /* what there is tells, as far as it does */
        }
    }
    report(r->name, &throughput);
    report(r->name, &p99);
    return 0;
}

static int run(const struct real *full) {
    struct real shortened = *full;
    shortened.sets = shortened.pairs = 1;
    const char *missing = access(full->server_path, X_OK) != 0   ? full->server_path
                          : access(full->client_path, X_OK) != 0 ? full->client_path
                                                                 : NULL;
    if (missing != NULL) {
        char why[96], figure[64];
        snprintf(why, sizeof why, "not measured: there is no %s", missing);
        for (unsigned i = 0; i < 2; i++) {
            snprintf(figure, sizeof figure, "real.%s.%s", full->name, i == 0 ? "throughput" : "p99");
            bench_report(figure, NAN, "%", NAN, true, why, NAN);
        }
        return 0;
    }
    return measure(bench_options.fast ? &shortened : full);
}

int bench_real_redis(void) {
    return run(&(struct real){"redis", "/usr/bin/redis-server", "/usr/bin/redis-benchmark", 8, 3, 10, 0.25,
                              start_redis, run_redis});
}

int bench_real_node(void) {
    return run(&(struct real){"node", "/usr/bin/node", "/usr/bin/wrk", 8, 2, 8, 1, start_node, run_node});
}
