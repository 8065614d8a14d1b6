/* SPDX-License-Identifier: MIT */
#include "fuzz_cost.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LEVELS 64 /* four for each doubling, from 64 us on */
#define USUAL_LIMIT_MS 2000
#define FIRST_NS 64000.0

/* libFuzzer takes each of these that is set for something new. */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t levels[FUZZ_PARTS_MAX][LEVELS];

static struct {
    const char *name;
    uint64_t ns;
    size_t bytes;
} worst[FUZZ_PARTS_MAX];
static const uint8_t *input;
static size_t input_bytes;
static uint64_t since;
static unsigned long inputs;

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void print_worst(void) {
    fprintf(stderr, "%lu inputs\n", inputs);
    for (unsigned i = 0; i < FUZZ_PARTS_MAX; i++) {
        if (worst[i].name != NULL) {
            fprintf(stderr, "%-12s at most %8.1f ms of CPU time, by %zu bytes\n", worst[i].name,
                    (double)worst[i].ns / 1e6, worst[i].bytes);
        }
    }
}

static void keep(const char *name) {
    const char *folder = getenv("HANGDOG_FUZZ_KEEP");
    char path[4096];
    snprintf(path, sizeof path, "%s/WORST-%s", folder != NULL ? folder : "", name);
    FILE *file = folder != NULL ? fopen(path, "we") : NULL;
    if (file != NULL) {
        fwrite(input, 1, input_bytes, file);
        fclose(file);
    }
}

void fuzz_cost_start(const uint8_t *data, size_t bytes) {
    if (inputs++ == 0) {
        atexit(print_worst);
    }
    input = data;
    input_bytes = bytes;
    since = now();
}

void fuzz_cost_end(unsigned part, const char *name) {
    const char *limit = getenv("HANGDOG_FUZZ_MS");
    uint64_t ns = now() - since;
    double reached = FIRST_NS;
    for (unsigned i = 0; i < LEVELS && (double)ns >= reached; i++, reached *= 1.189207115) {
        levels[part][i] = 1;
    }
    if (ns > worst[part].ns) {
        worst[part].name = name;
        worst[part].ns = ns;
        worst[part].bytes = input_bytes;
        keep(name);
    }
    if ((double)ns / 1e6 > (limit != NULL ? strtod(limit, NULL) : USUAL_LIMIT_MS)) {
        fprintf(stderr, "%s took %" PRIu64 " ms of CPU time\n", name, ns / 1000000);
        abort();
    }
    since = now();
}
