/* SPDX-License-Identifier: MIT
 *
 * Two functions that stall a program of the tests. Reports name them, so the program that includes this file
 * defines their names: STALL_BY_SLEEP and STALL_BY_COMPUTE.
 */
#ifndef STALLS_H
#define STALLS_H

#include <time.h>

static unsigned interrupted; /* calls that ended with EINTR */

static long long monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((noinline)) static void STALL_BY_SLEEP(long long ns) {
    struct timespec rest = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (nanosleep(&rest, &rest) != 0) {
        interrupted++;
    }
}

__attribute__((noinline)) static void STALL_BY_COMPUTE(long long ns) {
    static volatile unsigned sum;
    for (long long end = monotonic_ns() + ns; monotonic_ns() < end;) {
        for (unsigned i = 0; i < 20000; i++) {
            sum += i;
        }
    }
}

#endif
