/* SPDX-License-Identifier: MIT
 *
 * ingest: how many reports a second the collector stores for good, sent one by one on many connections and in
 * batches. Beside it, in turn: the store alone with the same rows, and the disk alone with the same bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "collector/base/built_in.h"
#include "collector/store/store.h"
#include "fleet/ingest_load.h"

#define ROUNDS 3
#define SINGLE_CONNECTIONS 128
#define BATCH_CONNECTIONS 8
#define BATCH 100
#define MEMORY_MIB_MAX 64.0

struct collector {
    pid_t pid;
    uint16_t port;
    char key[64];
};

struct way { /* of sending */
    const char *name;
    size_t connections, batch, reports;
    size_t transaction; /* rows that the store alone gets at once */
    double target;
    double rate[ROUNDS], p99[ROUNDS], store[ROUNDS], disk[ROUNDS];
};

static uint64_t next_number;

static void exec_serve(const char *folder, int out) {
    char self[BENCH_PATH], path[2 * BENCH_PATH], store[2 * BENCH_PATH];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*s/../libexec/hangdog/hangdog-serve",
             (int)(slash != NULL ? slash - self : 0), self);
    snprintf(store, sizeof store, "%s/store.db", folder);
    const char *const given = getenv("HANGDOG_BENCH_STORE");
    dup2(out, STDOUT_FILENO);
    execl(path, "hangdog-serve", "--listen", "127.0.0.1:0", "--rate", "1000000", "--per-address", "0",
          "--store", given != NULL ? given : store, given != NULL ? "--state" : NULL, store, (char *)NULL);
    fprintf(stderr, "hangdog-bench: %s: %s\n", path, strerror(errno));
    _exit(127);
}

/* The collector writes its first keys into a file next to the store, and says where. */
static int read_key(const char *said, char key[64]) {
    static const char before[] = " are in ", after[] = ", for its owner";
    char path[BENCH_PATH], text[1024] = "";
    const char *start = strstr(said, before), *end = strstr(said, after);
    if (start == NULL || end == NULL || end < start) {
        return -1;
    }
    start += sizeof before - 1;
    snprintf(path, sizeof path, "%.*s", (int)(end - start), start);
    FILE *file = fopen(path, "re");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[n] = '\0';
    const char *found = strstr(text, "hds_");
    snprintf(key, 64, "%.36s", found != NULL ? found : "");
    return found != NULL ? 0 : -1;
}

static int start_collector(const char *folder, struct collector *c) {
    int ends[2];
    char text[4096];
    size_t used = 0;
    if (pipe2(ends, O_CLOEXEC) != 0 || (c->pid = fork()) < 0) {
        return -1;
    }
    if (c->pid == 0) {
        exec_serve(folder, ends[1]);
    }
    close(ends[1]);
    text[0] = '\0';
    while (strstr(text, "collecting at") == NULL) {
        ssize_t n = read(ends[0], text + used, sizeof text - 1 - used);
        if (n <= 0) {
            return -1;
        }
        used += (size_t)n;
        text[used] = '\0';
    }
    const char *at = strstr(text, "collecting at http://127.0.0.1:");
    if (at == NULL || read_key(text, c->key) != 0) {
        return -1;
    }
    c->port = (uint16_t)strtoul(at + strlen("collecting at http://127.0.0.1:"), NULL, 10);
    return 0;
}

static double memory_mib(pid_t pid) {
    char path[64], line[256];
    double kib = NAN;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kib = strtod(line + 6, NULL);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kib / 1024;
}

/* Sends `reports`, prepared before the clock starts. */
static int send_some(const struct collector *c, const struct way *w, size_t reports, double *rate,
                     double *p99) {
    size_t count = reports / w->batch;
    struct ingest_request *all = calloc(count, sizeof *all);
    struct ingest_result result;
    for (size_t i = 0; all != NULL && i < count; i++, next_number += w->batch) {
        all[i] = ingest_request_make(c->key, next_number, w->batch);
    }
    int failed = all == NULL || ingest_send(c->port, w->connections, all, count, &result) != 0;
    for (size_t i = 0; all != NULL && i < count; i++) {
        free(all[i].bytes);
    }
    free(all);
    if (failed) {
        return -1;
    }
    *rate = (double)result.stored / result.seconds;
    *p99 = bench_percentile(result.ms, result.requests, 99);
    free(result.ms);
    return 0;
}

/* Reports a second that the store takes when it gets finished rows. */
static int store_only(const char *folder, const struct way *w, size_t reports, double *rate, size_t *bytes) {
    char path[BENCH_PATH + 16], text[INGEST_TEXT_MAX];
    struct problem why;
    struct schema_fault fault;
    snprintf(path, sizeof path, "%s/alone.db", folder);
    struct store *store = store_open(&(struct store_place){.url = path}, &why);
    json_t *schema = built_in_schema();
    struct row *rows = calloc(reports, sizeof *rows), **list = calloc(reports, sizeof(struct row *));
    *bytes = 0;
    int failed = store == NULL || schema == NULL || rows == NULL || list == NULL;
    for (size_t i = 0; !failed && i < reports; i++) {
        size_t n = ingest_text(next_number++, text);
        failed = !row_make(text, n, schema, &rows[i], &fault);
        *bytes += rows[i].body_bytes;
        list[i] = &rows[i];
    }
    uint64_t began = bench_now_ns();
    for (size_t i = 0; !failed && i < reports; i += w->transaction) {
        size_t n = reports - i < w->transaction ? reports - i : w->transaction;
        failed = store_add(store, list + i, n) != STORE_DONE;
    }
    store_close(store); /* it puts the last ones into their place */
    *rate = (double)reports / ((double)(bench_now_ns() - began) / 1e9);
    for (size_t i = 0; rows != NULL && i < reports; i++) {
        row_free(&rows[i]);
    }
    free(rows);
    free(list);
    json_decref(schema);
    return failed ? -1 : 0;
}

/* Reports a second by the disk: their bytes written at the end of a file, with fsync at each transaction. */
static int disk_only(const char *folder, const struct way *w, size_t reports, size_t bytes, double *rate) {
    char path[BENCH_PATH + 16];
    size_t transactions = (reports + w->transaction - 1) / w->transaction, each = bytes / transactions;
    char *zeros = calloc(1, each);
    snprintf(path, sizeof path, "%s/alone.bytes", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int failed = zeros == NULL || fd < 0;
    uint64_t began = bench_now_ns();
    for (size_t i = 0; !failed && i < transactions; i++) {
        failed = write(fd, zeros, each) != (ssize_t)each || fsync(fd) != 0;
    }
    *rate = (double)reports / ((double)(bench_now_ns() - began) / 1e9);
    close(fd);
    free(zeros);
    return failed ? -1 : 0;
}

static int measure(const struct collector *c, const char *folder, struct way *w) {
    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes;
        if (send_some(c, w, w->reports, &w->rate[i], &w->p99[i]) != 0 ||
            store_only(folder, w, w->reports, &w->store[i], &bytes) != 0 ||
            disk_only(folder, w, w->reports, bytes, &w->disk[i]) != 0) {
            return -1;
        }
    }
    char name[64];
    double rate = bench_median(w->rate, ROUNDS), store = bench_median(w->store, ROUNDS);
    snprintf(name, sizeof name, "ingest.%s", w->name);
    bench_report(name, rate, "reports/s", w->target, rate >= w->target, "the store alone", store);
    snprintf(name, sizeof name, "ingest.%s.disk", w->name);
    bench_report(name, bench_median(w->disk, ROUNDS), "reports/s", NAN, true, NULL, NAN);
    snprintf(name, sizeof name, "ingest.%s.p99", w->name);
    bench_report(name, bench_median(w->p99, ROUNDS), "ms", NAN, true, NULL, NAN);
    return 0;
}

/* The first part fills caches; then the collector's memory is to stay as it is. */
static int measure_memory(const struct collector *c, const struct way *w) {
    size_t all = bench_options.reports > 0 ? bench_options.reports : w->reports, part = w->reports;
    double rate, p99, before = memory_mib(c->pid), most = before;
    for (size_t sent = 0; sent < all; sent += part) {
        if (send_some(c, w, part, &rate, &p99) != 0) {
            return -1;
        }
        double now = memory_mib(c->pid);
        most = now > most ? now : most;
        if (bench_options.verbose) {
            fprintf(stderr, "%zu reports: %.0f/s, p99 %.1f ms, %.1f MiB\n", sent + part, rate, p99, now);
        }
    }
    bench_report("ingest.memory", most - before, "MiB more", MEMORY_MIB_MAX, most - before < MEMORY_MIB_MAX,
                 "MiB before", before);
    return 0;
}

int bench_ingest(void) {
    size_t part = bench_options.fast ? 10 : 1;
    struct way
        single = {"single", SINGLE_CONNECTIONS, 1, 20000 / part, SINGLE_CONNECTIONS / 2, 5000, {0}, {0}, {0},
                  {0}},
        batched = {"batched",
                   BATCH_CONNECTIONS,
                   BATCH,
                   40000 / part,
                   BATCH_CONNECTIONS / 2 * BATCH,
                   20000,
                   {0},
                   {0},
                   {0},
                   {0}};
    char folder[BENCH_PATH];
    struct collector c = {.pid = -1};
    if (bench_folder_make(folder) != 0) {
        return 1;
    }
    int failed = start_collector(folder, &c) != 0;
    if (failed) {
        fprintf(stderr, "hangdog-bench: the collector did not start\n");
    }
    failed = failed || measure(&c, folder, &single) != 0 || measure(&c, folder, &batched) != 0 ||
             measure_memory(&c, &batched) != 0;
    if (c.pid > 0) {
        kill(c.pid, SIGTERM);
        waitpid(c.pid, NULL, 0);
    }
    bench_folder_remove(folder);
    return failed;
}
