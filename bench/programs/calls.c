/* SPDX-License-Identifier: MIT
 *
 * Calls of small functions, for bench/trace.py: prints nanoseconds a call. Built plainly, with -pg, and with
 * -finstrument-functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 3 /* in an inner turn */

static volatile unsigned sum;

__attribute__((noinline)) static void leaf(unsigned i) {
    sum += i;
}

__attribute__((noinline)) static void other(unsigned i) {
    sum ^= i;
}

__attribute__((noinline)) static void outer(unsigned i) {
    leaf(i);
    other(i);
}

int main(int argc, char **argv) {
    unsigned turns = argc > 1 ? (unsigned)atoi(argv[1]) : 1000000;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned i = 0; i < turns; i++) {
        outer(i);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
    printf("%.3f\n", ns / turns / CALLS);
    return 0;
}
