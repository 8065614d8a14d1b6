/* SPDX-License-Identifier: MIT
 *
 * Durations as a user types them: 20ms, 2s, 1.5min, 1h, 3d. Pure.
 */
#ifndef CLI_DURATION_H
#define CLI_DURATION_H

#include <stdint.h>

#define DURATION_MS INT64_C(1000000)
#define DURATION_S (1000 * DURATION_MS)
#define DURATION_MIN (60 * DURATION_S)
#define DURATION_H (60 * DURATION_MIN)
#define DURATION_D (24 * DURATION_H)

/* Nanoseconds; a number without a unit is of milliseconds. -1: it is no duration. */
int64_t duration_parse(const char *text);

/* "10ms", "1h": one unit, for what divides by it. In `text`, which is returned. */
#define DURATION_BYTES 32
const char *duration_write(char text[DURATION_BYTES], int64_t ns);

#endif
