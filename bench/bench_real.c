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
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "bench_run.h"

enum { PLAIN, WATCHED, AGAIN, KINDS };
#define SETS 4
#define ROUNDS_MAX 20 /* of each set */
#define TARGET 1

struct load {
    double throughput, p99; /* a second; in the client's own unit of time */
};

struct server {
    struct bench_program program;
    int port;
};

struct real {
    const char *name, *server_path, *client_path;
    /* Short runs and many: what else the machine does comes and goes, and a median leaves out what was hit.
     */
    unsigned rounds;
    double seconds; /* of a run */
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
    return (struct load){value[0], value[5]};
}

/* ---- Node ---------------------------------------------------------------------------------- */

static int start_node(struct server *s, bool watched, int cpu) {
    char script[160];
    char *argv[] = {"/usr/bin/node", "-e", script, NULL};
    snprintf(script, sizeof script,
             "require('http').createServer((q, s) => s.end('hello\\n')).listen(%d, '127.0.0.1')", s->port);
    return bench_program_start(&s->program, argv, watched, false, cpu);
}

/* "1.23ms", "456.00us", "1.02s": in microseconds. */
static double duration(const char *text) {
    char *unit;
    double value = strtod(text, &unit);
    return value * (strncmp(unit, "us", 2) == 0 ? 1 : strncmp(unit, "ms", 2) == 0 ? 1e3 : 1e6);
}

static struct load run_node(const struct server *s, double seconds, int cpu) {
    char url[64], time[16], text[4096];
    char *argv[] = {"/usr/bin/wrk", "-t1", "-c16", "--latency", "-d", time, url, NULL};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", s->port);
    snprintf(time, sizeof time, "%.0fs", ceil(seconds));
    output_of(argv, cpu, text, sizeof text);
    const char *rate = strstr(text, "Requests/sec:"), *p99 = strstr(text, "99%");
    if (rate == NULL || p99 == NULL) {
        return (struct load){NAN, NAN};
    }
    return (struct load){strtod(rate + strlen("Requests/sec:"), NULL), duration(p99 + strlen("99%"))};
}

/* --------------------------------------------------------------------------------------------- */

static int start(const struct real *r, struct server servers[SETS][KINDS], int client_cpu, int server_cpu) {
    for (unsigned i = 0; i < SETS * KINDS; i++) {
        struct server *s = &servers[i / KINDS][i % KINDS];
        s->port = free_port();
        int rc = r->start(s, i % KINDS == WATCHED, server_cpu);
        for (int ms = 0; rc == 0 && !answers(s->port); ms += 10) {
            rc = ms > 10000 ? -ETIMEDOUT : 0;
            bench_sleep_ns(10 * BENCH_MS);
        }
        if (rc != 0) {
            fprintf(stderr, "hangdog-bench: %s did not answer on port %d\n", r->server_path, s->port);
            return rc;
        }
    }
    /* All are warmed alike. A loop is sure when it has waited again after ten seconds. */
    int rc = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t until = bench_now_ns() + (pass == 0 ? 12 * BENCH_S : 0);
        for (unsigned i = 0; i < SETS * KINDS; i++) {
            r->run(&servers[i / KINDS][i % KINDS], 0.5, client_cpu);
        }
        while (bench_now_ns() < until) {
            bench_sleep_ns(100 * BENCH_MS);
        }
    }
    for (unsigned set = 0; rc == 0 && set < SETS; set++) {
        rc = bench_program_sure(&servers[set][WATCHED].program);
    }
    return rc;
}

/* What the second costs more than the first, in percent. */
static double worse(double first, double second) {
    return 100 * (second - first) / first;
}

static void report(const char *name, const char *what, double *watched, double *again, unsigned count) {
    char figure[64];
    snprintf(figure, sizeof figure, "real.%s.%s", name, what);
    double value = bench_median(watched, count), noise = bench_median(again, count);
    bench_report(figure, value, "%", TARGET, value <= TARGET, "unwatched twice", noise);
    if (bench_options.verbose) {
        fprintf(stderr, "%s: %u pairs, half of them %+.2f to %+.2f %%; unwatched twice %+.2f to %+.2f %%\n",
                figure, count, bench_percentile(watched, count, 25), bench_percentile(watched, count, 75),
                bench_percentile(again, count, 25), bench_percentile(again, count, 75));
    }
}

static int measure(const struct real *r, struct server servers[SETS][KINDS], int cpu) {
    double slower[2][SETS * ROUNDS_MAX], later[2][SETS * ROUNDS_MAX]; /* watched, and plain again */
    unsigned rounds = bench_options.fast ? 1 : r->rounds, n = 0;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned set = 0; set < SETS; set++, n++) {
            struct load load[KINDS];
            for (unsigned i = 0; i < KINDS; i++) {
                unsigned kind = n % 2 == 0 ? i : KINDS - 1 - i;
                load[kind] = r->run(&servers[set][kind], r->seconds, cpu);
            }
            double plain = (load[PLAIN].throughput + load[AGAIN].throughput) / 2;
            double plain_p99 = (load[PLAIN].p99 + load[AGAIN].p99) / 2;
            slower[0][n] = -worse(plain, load[WATCHED].throughput);
            slower[1][n] = -worse(load[PLAIN].throughput, load[AGAIN].throughput);
            later[0][n] = worse(plain_p99, load[WATCHED].p99);
            later[1][n] = worse(load[PLAIN].p99, load[AGAIN].p99);
            if (!isfinite(slower[0][n]) || !isfinite(later[0][n])) {
                fprintf(stderr, "hangdog-bench: %s did not say what it measured\n", r->client_path);
                return 1;
            }
        }
    }
    report(r->name, "throughput", slower[0], slower[1], n);
    report(r->name, "p99", later[0], later[1], n);
    return 0;
}

static int run(const struct real *r) {
    struct server servers[SETS][KINDS];
    int client_cpu, server_cpu;
    const char *missing = access(r->server_path, X_OK) != 0   ? r->server_path
                          : access(r->client_path, X_OK) != 0 ? r->client_path
                                                              : NULL;
    if (missing != NULL) {
        char why[96], figure[64];
        snprintf(why, sizeof why, "not measured: there is no %s", missing);
        for (unsigned i = 0; i < 2; i++) {
            snprintf(figure, sizeof figure, "real.%s.%s", r->name, i == 0 ? "throughput" : "p99");
            bench_report(figure, NAN, "%", NAN, true, why, NAN);
        }
        return 0;
    }
    bench_two_processors(&client_cpu, &server_cpu);
    for (unsigned i = 0; i < SETS * KINDS; i++) {
        servers[i / KINDS][i % KINDS] = (struct server){.program = {.in = -1, .out = -1}};
    }
    int rc = start(r, servers, client_cpu, server_cpu);
    rc = rc == 0 ? measure(r, servers, client_cpu) : rc;
    for (unsigned i = 0; i < SETS * KINDS; i++) {
        bench_program_end(&servers[i / KINDS][i % KINDS].program);
    }
    return rc;
}

int bench_real_redis(void) {
    return run(&(struct real){"redis", "/usr/bin/redis-server", "/usr/bin/redis-benchmark", 20, 0.25,
                              start_redis, run_redis});
}

int bench_real_node(void) {
    return run(&(struct real){"node", "/usr/bin/node", "/usr/bin/wrk", 4, 1, start_node, run_node});
}
