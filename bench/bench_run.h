/* SPDX-License-Identifier: MIT
 *
 * Programs that the benches start, as they are or under `hangdog run`: the real command with the real
 * preload.
 */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "bench.h"

struct bench_program {
    pid_t pid;         /* of the program, or of the `hangdog run` that is its parent; 0: none */
    int in, out;       /* its standard input and output; -1 where it has none of ours */
    const void *state; /* what the preload and the runner share; NULL: not watched */
    char spool[BENCH_PATH];
};

/* What lies beside hangdog-bench: "hangdog", "../bench/turns". */
void bench_path_next_to_self(char *path, const char *name);

/* Starts argv[0], a path. `watched`: under `hangdog run`. `pipes`: `in` and `out` are ours; else both are
 * /dev/null. `cpu`: the only processor it may use; -1: any. It ends with this process. 0, else it said why.
 */
int bench_program_start(struct bench_program *p, char *const argv[], bool watched, bool pipes, int cpu);

/* Waits until the program's loop is recognised beyond doubt. 0, else it said why. */
int bench_program_sure(const struct bench_program *p);

/* By the end of its input where that is ours, else by SIGTERM. */
void bench_program_end(struct bench_program *p);

/* The processors this process may use: the first and the last of them. -1 where there is but one. */
void bench_two_processors(int *first, int *last);

#endif
