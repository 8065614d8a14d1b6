/* SPDX-License-Identifier: MIT
 *
 * The time for deadlines and rates: it never jumps.
 */
#ifndef COLLECTOR_MONOTONIC_H
#define COLLECTOR_MONOTONIC_H

#include <stdint.h>

#define MONOTONIC_S INT64_C(1000000000)

int64_t monotonic_ns(void);

#endif
