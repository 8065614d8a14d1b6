// SPDX-License-Identifier: MIT
// apple_check SCENARIO FOLDER: runs one scenario, with reports in FOLDER. Without arguments it prints the
// names.
#include "check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/loader.h>
#else
#include <link.h>
#endif

#define THRESHOLD (300 * CHECK_MS)
#define LIVE_BYTES (4u << 20)

#ifdef __APPLE__
extern const struct mach_header_64 _mh_execute_header; /* made by the linker */

static uintptr_t slide(void) {
    const struct mach_header_64 *header = &_mh_execute_header;
    const struct segment_command_64 *command = (const void *)(header + 1);
    while (command->cmd != LC_SEGMENT_64 || strcmp(command->segname, "__TEXT") != 0) {
        command = (const void *)((const char *)command + command->cmdsize);
    }
    return (uintptr_t)header - command->vmaddr;
}
#else
static int first(struct dl_phdr_info *info, size_t size, void *bias) {
    (void)size;
    *(uintptr_t *)bias = info->dlpi_addr;
    return 1;
}

static uintptr_t slide(void) {
    uintptr_t bias = 0;
    dl_iterate_phdr(first, &bias);
    return bias;
}
#endif

void check_function(const char *name, void (*function)(void)) {
    dprintf(1, "function %s %#lx\n", name, (unsigned long)((uintptr_t)function - slide()));
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void check_work(int ms) {
    long until = now_ms() + ms;
    while (now_ms() < until) {
    }
}

void check_repeat(int ms, void (*function)(void)) {
    long until = now_ms() + ms;
    while (now_ms() < until) {
        function();
    }
}

void check_sleep(int ms) {
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, rest = left;
    while (nanosleep(&left, &rest) != 0) {
        left = rest;
    }
}

void check_turn(hangdog_loop *loop, void (*work)(void)) {
    hangdog_before_wait(loop);
    check_sleep(100);
    hangdog_after_wait(loop);
    work();
    hangdog_before_wait(loop);
    check_sleep(200);
}

int check_live_report(const char *folder) {
    char path[1024];
    char *text = malloc(LIVE_BYTES);
    snprintf(path, sizeof path, "%s/live.json", folder);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    long length = text != NULL ? hangdog_report_now(text, LIVE_BYTES, HANGDOG_FORM_JSON) : -1;
    bool whole = file >= 0 && length > 0 && length < (long)LIVE_BYTES;
    bool written = whole && write(file, text, (size_t)length) == (ssize_t)length;
    close(file);
    free(text);
    return written ? 0 : __LINE__;
}

static int run(const struct check_scenario *scenario, const char *folder) {
    hangdog_options options = {
        .size = sizeof options,
        .app_name = "apple-check",
        .spool = folder,
        .reports_per_day = UINT32_MAX,
        .reports_per_fingerprint = UINT32_MAX,
        .crash = 1,
    };
    for (int i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = THRESHOLD;
    }
    if (strcmp(scenario->name, "cpu") == 0) {
        options.cpu_period_ns = 500 * CHECK_MS;
    }
    int error = hangdog_start(&options);
    if (error != 0) {
        dprintf(1, "hangdog_start: %d\n", error);
        return 1;
    }
    int fault = scenario->run(folder);
    hangdog_totals totals = {.size = sizeof totals};
    hangdog_stats(&totals);
    dprintf(1, "totals %lu hangs %lu samples %lu pause-max-us %lu cpu-us %lu late-us\n",
            (unsigned long)totals.hangs, (unsigned long)totals.samples,
            (unsigned long)(totals.pause_max_ns / 1000), (unsigned long)(totals.cpu_ns / 1000),
            (unsigned long)(totals.late_max_ns / 1000));
    hangdog_stop();
    if (fault != 0) {
        dprintf(1, "fault %d\n", fault);
    }
    return fault != 0;
}

int main(int argc, char **argv) {
    const struct check_scenario *lists[] = {check_threads, check_loops, check_frameworks};
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const struct check_scenario *scenario = lists[i]; scenario->name != NULL; scenario++) {
            if (argc < 2) {
                dprintf(1, "%s\n", scenario->name);
            } else if (argc == 3 && strcmp(argv[1], scenario->name) == 0) {
                return run(scenario, argv[2]);
            }
        }
    }
    return argc < 2 ? 0 : 2;
}
