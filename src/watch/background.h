/* SPDX-License-Identifier: MIT
 *
 * How long the program was in the background. A report says how much of the hang was there. Any thread.
 */
#ifndef HD_WATCH_BACKGROUND_H
#define HD_WATCH_BACKGROUND_H

#include <stdatomic.h>

#include "base/types.h"

struct hd_background {
    _Atomic uint64_t spent_ns; /* in earlier stays */
    _Atomic uint64_t since_ns; /* start of this stay; 0: the program is not in the background */
};

/* The program enters or leaves the background. Async-signal-safe. */
void hd_background_set(struct hd_background *b, bool enters, uint64_t now_ns);

/* How long the program was there until `at_ns`. For a time before the newest change: until that change. */
uint64_t hd_background_until(const struct hd_background *b, uint64_t at_ns);

#endif
