/* SPDX-License-Identifier: MIT
 *
 * What `hangdog attach` costs a redis-server under redis-benchmark, in CPU time a request: when it is
 * watched, and when another program is. And what `hangdog attach --all` itself uses on a host of 300 idle
 * processes with 2,100 threads (programs/idle_host.c).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "bench_attach.h"

#define REQUESTS 40000
#define ROUNDS_MAX 9
#define PORT "21379"

enum {
    NOTHING,
    WATCHED,
    OTHER,
    VARIANTS
};

/* Returns the first number after `key` in a file of /proc/PID; NAN: the file has no such key. */
static double read_figure(pid_t pid, const char *name, const char *key) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[n] = '\0';
    const char *at = strstr(text, key);
    return at != NULL && n > 0 ? strtod(at + strlen(key), NULL) : NAN;
}

/* ---- redis ------------------------------------------------------------------------------------ */

/* CPU time of a request, in microseconds. The server has one thread that works. */
static double load(const struct bench_program *redis, int cpu) {
    struct bench_program client;
    char count[16], byte[256];
    char *argv[] = {
        "/usr/bin/redis-benchmark", "-p", PORT, "-c", "20", "-t", "get", "-n", count, "--csv", NULL};
    snprintf(count, sizeof count, "%d", REQUESTS);
    double before = read_figure(redis->pid, "schedstat", "");
    if (bench_program_start(&client, argv, false, true, cpu) == 0) {
        while (read(client.out, byte, sizeof byte) > 0) {
        }
    }
    bench_program_end(&client);
    return (read_figure(redis->pid, "schedstat", "") - before) / 1e3 / REQUESTS;
}

static void report_redis(double us[VARIANTS][ROUNDS_MAX], unsigned rounds) {
    static const char *const names[VARIANTS] = {NULL, "attach.redis", "attach.redis.other"};
    static const double targets[VARIANTS] = {0, 2, 0.5};
    for (unsigned v = WATCHED; v < VARIANTS; v++) {
        double more[ROUNDS_MAX], least[2] = {INFINITY, INFINITY};
        char name[64];
        for (unsigned r = 0; r < rounds; r++) {
            more[r] = 100 * (us[v][r] / us[NOTHING][r] - 1);
            least[0] = fmin(least[0], us[NOTHING][r]);
            least[1] = fmin(least[1], us[v][r]);
        }
        double value = bench_median(more, rounds);
        bench_report(names[v], value, "%", targets[v], value <= targets[v], "us a request, nothing attached",
                     bench_median(us[NOTHING], rounds));
        snprintf(name, sizeof name, "%s.least", names[v]);
        bench_report(name, 100 * (least[1] / least[0] - 1), "%", NAN, true, "us, nothing attached", least[0]);
    }
}

static int measure_redis(void) {
    static double us[VARIANTS][ROUNDS_MAX];
    struct bench_program redis, other;
    int client_cpu, server_cpu, rc = 0;
    unsigned rounds = bench_options.fast ? 1 : ROUNDS_MAX;
    char path[BENCH_PATH], pids[VARIANTS][16] = {""};
    char *argv[] = {"/usr/bin/redis-server", "--port", PORT, "--bind", "127.0.0.1", "--save", "", NULL};
    char *idle[] = {path, "-1", NULL};
    bench_two_processors(&client_cpu, &server_cpu);
    bench_path_next_to_self(path, "../bench/costs");
    if (access(argv[0], X_OK) != 0 || bench_program_start(&redis, argv, false, false, server_cpu) != 0) {
        bench_report("attach.redis", NAN, "%", NAN, true, "not measured: there is no redis-server", NAN);
        return 0;
    }
    rc = bench_program_start(&other, idle, false, true, -1);
    snprintf(pids[WATCHED], sizeof pids[0], "%d", (int)redis.pid);
    snprintf(pids[OTHER], sizeof pids[0], "%d", (int)other.pid);
    bench_sleep_ns(BENCH_S);
    load(&redis, client_cpu);
    for (unsigned r = 0; rc == 0 && r < rounds; r++) {
        for (unsigned n = 0; rc == 0 && n < VARIANTS; n++) {
            unsigned v = r % 2 == 0 ? n : VARIANTS - 1 - n;
            struct bench_program watcher = {.in = -1, .out = -1};
            if (v != NOTHING) {
                rc = bench_attach_start(&watcher, NULL, pids[v], 2);
            }
            us[v][r] = load(&redis, client_cpu);
            bench_attach_end(&watcher);
        }
    }
    bench_program_end(&redis);
    bench_program_end(&other);
    if (rc == 0) {
        report_redis(us, rounds);
    } else {
        fprintf(stderr, "hangdog-bench: hangdog attach ended early\n");
    }
    return rc;
}

/* ---- an idle host ------------------------------------------------------------------------------- */

static int measure_host(void) {
    struct bench_program host, watcher;
    double seconds = bench_options.fast ? 2 : 20;
    char path[BENCH_PATH], byte[16];
    char *argv[] = {path, "300", "7", NULL};
    bench_path_next_to_self(path, "../bench/idle_host");
    if (bench_program_start(&host, argv, false, true, -1) != 0 || read(host.out, byte, sizeof byte) <= 0) {
        return 1;
    }
    bench_sleep_ns(2 * BENCH_S);
    int rc = bench_attach_start(&watcher, NULL, "--all", bench_options.fast ? 5 : 30);
    double cpu = read_figure(watcher.pid, "schedstat", ""), wakes, from = (double)bench_now_ns();
    wakes = read_figure(watcher.pid, "status", "\nvoluntary_ctxt_switches:");
    bench_sleep_ns((uint64_t)(seconds * 1e9));
    double took = (double)bench_now_ns() - from;
    cpu = 100 * (read_figure(watcher.pid, "schedstat", "") - cpu) / took;
    wakes = (read_figure(watcher.pid, "status", "\nvoluntary_ctxt_switches:") - wakes) / (took / 1e9);
    double memory = read_figure(watcher.pid, "status", "\nVmRSS:") * 1024 / 1e6;
    bench_attach_end(&watcher);
    bench_program_end(&host);
    if (rc != 0) {
        fprintf(stderr, "hangdog-bench: hangdog attach --all ended early\n");
        return rc;
    }
    bench_report("attach.host.cpu", cpu, "%", 0.2, cpu <= 0.2, NULL, NAN);
    bench_report("attach.host.memory", memory, "MB", 25, memory <= 25, NULL, NAN);
    bench_report("attach.host.wakeups", wakes, "a second", 25, wakes <= 25, NULL, NAN);
    return 0;
}

int bench_attach_load(void) {
    int redis = measure_redis(), host = measure_host();
    return redis != 0 ? redis : host;
}
