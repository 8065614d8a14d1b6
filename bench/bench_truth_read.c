/* SPDX-License-Identifier: MIT
 *
 * The reports of a lane, read from its spool and given to the stalls that they are about, by the time of
 * their start. Functions are told by address: the report's `start` and the module's place are all that is
 * used.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench_json.h"
#include "bench_truth.h"

#define REPORT_BYTES_MAX (8u << 20)
#define SAME_START_NS (200 * BENCH_MS)

static int first_object(struct dl_phdr_info *info, size_t size, void *bias) {
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr; /* the program itself comes first */
    return 1;
}

static uint64_t own_bias(void) {
    uint64_t bias = 0;
    dl_iterate_phdr(first_object, &bias);
    return bias;
}

/* "2026-01-31T12:00:00.123456789Z" as nanoseconds since 1970; 0: not of that form. */
static uint64_t wall_ns(const char *value) {
    char text[48];
    struct tm t = {0};
    bench_json_text(value, text, sizeof text);
    char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
    if (rest == NULL) {
        return 0;
    }
    uint64_t ns = 0, unit = BENCH_S;
    for (char *p = rest + 1; *rest == '.' && *p >= '0' && *p <= '9' && unit >= 10; p++) {
        unit /= 10;
        ns += unit * (uint64_t)(*p - '0');
    }
    return (uint64_t)timegm(&t) * BENCH_S + ns;
}

/* The program is the module that has the path of its executable. */
static bool in_program(const char *report, const char *frame) {
    char path[256];
    uint64_t place = bench_json_u64(bench_json_member(frame, "module"), UINT64_MAX);
    const char *module = bench_json_first(bench_json_member(report, "modules"));
    for (uint64_t i = 0; module != NULL && i < place; i++) {
        module = bench_json_next(module);
    }
    bench_json_text(bench_json_member(module, "path"), path, sizeof path);
    const char *base = strrchr(path, '/');
    return place != UINT64_MAX && strcmp(base != NULL ? base + 1 : path, program_invocation_short_name) == 0;
}

static void read_hot_stack(const char *report, struct truth_stall *s) {
    const char *hot = bench_json_member(report, "hot_stack");
    uint64_t bias = own_bias();
    s->hot_kind = s->hot_function = -1;
    bench_json_text(bench_json_member(hot, "capture"), s->capture, sizeof s->capture);
    bench_json_text(bench_json_member(hot, "stop"), s->stop, sizeof s->stop);
    for (const char *f = bench_json_first(bench_json_member(hot, "frames")); f != NULL;
         f = bench_json_next(f)) {
        uint64_t start = bench_json_u64(bench_json_member(f, "start"), 0);
        if (start != 0 && in_program(report, f) &&
            truth_function_at(start + bias, &s->hot_kind, &s->hot_function)) {
            return;
        }
    }
}

static void read_report(const char *report, struct truth_lane *lane) {
    if (bench_json_is(bench_json_member(report, "kind"), "session")) {
        return;
    }
    uint64_t started = wall_ns(bench_json_member(report, "started_at"));
    struct truth_stall *nearest = NULL;
    lane->reports++;
    for (unsigned i = 0; i < lane->runs; i++) {
        struct truth_stall *s = &lane->stall[i];
        uint64_t off = s->wall_ns > started ? s->wall_ns - started : started - s->wall_ns;
        if (!s->found && off <= SAME_START_NS) {
            nearest = s;
        }
    }
    if (nearest == NULL || !bench_json_is(bench_json_member(report, "kind"), "hang")) {
        lane->false_alarms++;
        return;
    }
    const char *complete = bench_json_member(report, "complete");
    nearest->found = true;
    nearest->complete = complete != NULL && strncmp(complete, "true", 4) == 0;
    nearest->duration_ns = bench_json_u64(bench_json_member(report, "duration_ns"), 0);
    nearest->samples =
        (unsigned)bench_json_u64(bench_json_member(bench_json_member(report, "samples"), "taken"), 0);
    bench_json_text(bench_json_member(bench_json_member(report, "cause"), "kind"), nearest->cause_said,
                    sizeof nearest->cause_said);
    read_hot_stack(report, nearest);
}

void truth_read_reports(const char *folder, struct truth_lane *lane) {
    struct dirent *e;
    char *text = malloc(REPORT_BYTES_MAX);
    DIR *dir = opendir(folder);
    while (text != NULL && dir != NULL && (e = readdir(dir)) != NULL) {
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n < 5 || strcmp(e->d_name + n - 5, ".json") != 0) {
            continue;
        }
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd >= 0 ? read(fd, text, REPORT_BYTES_MAX - 1) : -1;
        if (fd >= 0) {
            close(fd);
        }
        text[got > 0 ? got : 0] = '\0';
        read_report(text, lane);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    free(text);
}
