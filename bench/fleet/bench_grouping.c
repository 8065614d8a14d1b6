/* SPDX-License-Identifier: MIT
 *
 * grouping: reports of known bugs, from programs that are built in many ways, come to their bug's group. A
 * script builds and runs the programs (bench/grouping.py); its figures are ours.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "bench_json.h"
#include "bench_run.h"

static double number(const char *line, const char *name) {
    const char *value = bench_json_member(line, name);
    char *end = NULL;
    double n = value != NULL ? strtod(value, &end) : NAN;
    return end != value ? n : NAN; /* null */
}

static void report(const char *line) {
    char name[64], unit[32];
    bench_json_text(bench_json_member(line, "name"), name, sizeof name);
    bench_json_text(bench_json_member(line, "unit"), unit, sizeof unit);
    const char *ok = bench_json_member(line, "ok");
    bench_report(name, number(line, "value"), unit, number(line, "target"),
                 ok != NULL && strncmp(ok, "true", 4) == 0, NULL, NAN);
}

int bench_grouping(void) {
    char build[BENCH_PATH], script_path[BENCH_PATH], line[4096];
    char *argv[] = {"/usr/bin/python3", script_path, "--build", build, "--set", "small", "--ways", "6", NULL};
    struct bench_program script;
    size_t figures = 0;
    if (!bench_options.fast) {
        argv[4] = NULL; /* both sets, in all ways */
    }
    bench_path_next_to_self(build, "..");
    bench_path_next_to_self(script_path, BENCH_FOLDER "/grouping.py");
    if (bench_program_start(&script, argv, false, true, -1) != 0) {
        return -1;
    }
    FILE *out = fdopen(dup(script.out), "r");
    while (out != NULL && fgets(line, sizeof line, out) != NULL) {
        if (line[0] == '{') {
            report(line);
            figures++;
        } else if (bench_options.verbose) {
            fputs(line, stderr);
        }
    }
    if (out != NULL) {
        fclose(out);
    }
    bench_program_end(&script);
    if (figures == 0) {
        fprintf(stderr, "hangdog-bench: %s has no figures\n", argv[1]);
    }
    return figures > 0 ? 0 : -1;
}
