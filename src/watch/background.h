/* SPDX-License-Identifier: MIT
 *
 * Counts the time that the program was in the background. A report says how much of the hang fell into that
 * time. These functions run on any thread.
 */
#ifndef HD_WATCH_BACKGROUND_H
#define HD_WATCH_BACKGROUND_H

#include <stdatomic.h>

#include "base/types.h"

struct hd_background {
    /* how long the program was in the background, without the time since since_ns */
    _Atomic uint64_t spent_ns;
    _Atomic uint64_t since_ns; /* when the program went to the background; 0: it is not in the background */
};

/* Stores that the program enters or leaves the background at `now_ns`. Async-signal-safe. */
void hd_background_set(struct hd_background *b, bool enters, uint64_t now_ns);

/* Returns how long the program was in the background between Hangdog's start and `at_ns`. If the program
 * entered or left the background after `at_ns`, the result is for the newest such moment instead. */
uint64_t hd_background_until(const struct hd_background *b, uint64_t at_ns);

#endif
