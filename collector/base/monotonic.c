/* SPDX-License-Identifier: MIT */
#include "collector/base/monotonic.h"

#include <time.h>

int64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * MONOTONIC_S + t.tv_nsec;
}
