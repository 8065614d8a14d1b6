/* SPDX-License-Identifier: MIT
 *
 * Clocks. The uptime is the host's monotonic clock.
 */
#ifndef APPLE_LOADER_CLOCKS_H
#define APPLE_LOADER_CLOCKS_H

#include <stdint.h>
#include <time.h>

uint64_t clocks_uptime_ns(void);
/* The time of CLOCK_MONOTONIC after `ns` from now. */
struct timespec clocks_after(uint64_t ns);

#endif
