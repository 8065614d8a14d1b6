/* SPDX-License-Identifier: MIT
 *
 * What the benches share: clocks, statistics, rounds of several variants in turn, the library's own threads,
 * folders.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "hangdog/hangdog.h"

/* ---- clocks --------------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * BENCH_S + (uint64_t)t.tv_nsec;
}

uint64_t bench_now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_thread_cpu_ns(void) {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void bench_sleep_ns(uint64_t ns) {
    uint64_t until = bench_now_ns() + ns;
    struct timespec t = {.tv_sec = (time_t)(until / BENCH_S), .tv_nsec = (long)(until % BENCH_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}

/* ---- statistics ----------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_percentile(double *values, size_t count, double percent) {
    if (count == 0) {
        return NAN;
    }
    qsort(values, count, sizeof values[0], by_value);
    size_t rank = (size_t)ceil(percent / 100 * (double)count);
    return values[rank > 0 ? rank - 1 : 0];
}

double bench_median(double *values, size_t count) {
    return bench_percentile(values, count, 50);
}

/* ---- rounds --------------------------------------------------------------------------------- */

int bench_rounds_run(struct bench_rounds *r, const bench_variant *variants, void *arg) {
    double *scratch = calloc(r->rounds, sizeof *scratch);
    for (unsigned v = 0; v < r->count; v++) {
        r->ns[v] = calloc(r->rounds, sizeof *r->ns[v]);
        if (r->ns[v] == NULL || scratch == NULL) {
            fprintf(stderr, "hangdog-bench: out of memory\n");
            free(scratch);
            return -ENOMEM;
        }
        variants[v](arg, r->repeats); /* once, to warm up */
    }
    for (unsigned i = 0; i < r->rounds; i++) {
        for (unsigned n = 0; n < r->count; n++) {
            unsigned v = i % 2 == 0 ? n : r->count - 1 - n;
            r->ns[v][i] = variants[v](arg, r->repeats) / r->repeats;
        }
    }
    for (unsigned v = 0; v < r->count; v++) {
        memcpy(scratch, r->ns[v], r->rounds * sizeof *scratch);
        r->median[v] = bench_median(scratch, r->rounds);
    }
    free(scratch);
    return 0;
}

double bench_rounds_more(const struct bench_rounds *r, unsigned a, unsigned b) {
    double *scratch = calloc(r->rounds, sizeof *scratch);
    if (scratch == NULL) {
        return NAN;
    }
    for (unsigned i = 0; i < r->rounds; i++) {
        scratch[i] = r->ns[a][i] - r->ns[b][i];
    }
    double more = bench_median(scratch, r->rounds);
    free(scratch);
    return more;
}

void bench_rounds_free(struct bench_rounds *r) {
    for (unsigned v = 0; v < r->count; v++) {
        free(r->ns[v]);
        r->ns[v] = NULL;
    }
}

/* ---- the library's own threads -------------------------------------------------------------- */

static bool read_task(const char *tid, const char *file, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.16s/%s", tid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static uint64_t voluntary_switches(const char *status) {
    static const char key[] = "\nvoluntary_ctxt_switches:";
    const char *line = strstr(status, key);
    return line != NULL ? strtoull(line + sizeof key - 1, NULL, 10) : 0;
}

bool bench_own_threads(struct bench_threads *out) {
    char name[32], text[4096];
    struct dirent *e;
    *out = (struct bench_threads){0};
    DIR *tasks = opendir("/proc/self/task");
    while (tasks != NULL && (e = readdir(tasks)) != NULL) {
        if (e->d_name[0] == '.' || !read_task(e->d_name, "comm", name, sizeof name)) {
            continue;
        }
        bool monitor = strcmp(name, "hangdog\n") == 0, worker = strcmp(name, "hangdog-worker\n") == 0;
        if (!monitor && !worker) {
            continue;
        }
        uint64_t cpu_ns = read_task(e->d_name, "schedstat", text, sizeof text) ? strtoull(text, NULL, 10) : 0;
        uint64_t waits = read_task(e->d_name, "status", text, sizeof text) ? voluntary_switches(text) : 0;
        *(monitor ? &out->monitor_cpu_ns : &out->worker_cpu_ns) += cpu_ns;
        *(monitor ? &out->monitor_waits : &out->worker_waits) += waits;
        out->count++;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return out->count > 0;
}

/* ---- folders -------------------------------------------------------------------------------- */

int bench_folder_make(char *path) {
    const char *base = getenv("TMPDIR");
    snprintf(path, BENCH_PATH, "%s/hangdog-bench-XXXXXX",
             base != NULL && base[0] != '\0' ? base : "/var/tmp");
    if (mkdtemp(path) == NULL) {
        fprintf(stderr, "hangdog-bench: cannot make a folder %s: %s; set TMPDIR to one on a disk\n", path,
                strerror(errno));
        return -errno;
    }
    return 0;
}

void bench_folder_remove(const char *path) {
    struct dirent *e;
    DIR *dir = opendir(path);
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            unlinkat(dirfd(dir), e->d_name, 0);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(path);
}

/* ---- a watched loop ------------------------------------------------------------------------- */

struct hangdog_loop *bench_watch(const char *folder, uint64_t threshold_ns) {
    hangdog_options options = {.size = sizeof options,
                               .app_name = "hangdog-bench",
                               .spool = folder,
                               .reports_per_day = UINT32_MAX,
                               .reports_per_fingerprint = UINT32_MAX,
                               .spool_reports = UINT32_MAX};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = threshold_ns;
    int rc = hangdog_start(&options);
    hangdog_loop *loop = rc == 0 ? hangdog_loop_watch("bench", 0) : NULL;
    if (loop == NULL) {
        fprintf(stderr, "hangdog-bench: cannot watch a loop: %s\n", rc != 0 ? strerror(-rc) : "no room");
        return NULL;
    }
    hangdog_before_wait(loop);
    bench_sleep_ns(
        300 * BENCH_MS); /* the launch ends at the first look that finds it idle; then the monitor parks */
    return loop;
}
