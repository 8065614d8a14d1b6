/* SPDX-License-Identifier: MIT
 *
 * How long the program was in the background, so that a hang can say how much of it was there. Any thread.
 */
#ifndef HD_WATCH_BACKGROUND_H
#define HD_WATCH_BACKGROUND_H

#include <stdatomic.h>

#include "base/types.h"

struct hd_background {
    _Atomic uint64_t spent_ns, since_ns; /* before; and since when again, 0: it is not there */
};

/* The program's state changes. Async-signal-safe. */
void hd_background_set(struct hd_background *b, bool is, uint64_t now_ns);

/* How long it was there until `at_ns`. Of a time before the newest change the answer is that of the change.
 */
uint64_t hd_background_until(const struct hd_background *b, uint64_t at_ns);

#endif
