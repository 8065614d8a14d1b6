/* SPDX-License-Identifier: MIT
 *
 * `hangdog attach` for the benches: start and end of a watcher, and the second half of the bench.
 */
#ifndef BENCH_ATTACH_H
#define BENCH_ATTACH_H

#include "bench_run.h"

/* Attaches to `whom`, a process number or "--all", by this way (NULL: the best one), and waits for so many
 * seconds. Not 0: the watcher has ended. bench_attach_end follows in both cases. */
int bench_attach_start(struct bench_program *p, const char *way, const char *whom, double seconds);
void bench_attach_end(struct bench_program *p);

/* redis under load, and a host of idle programs. */
int bench_attach_load(void);

#endif
