/* SPDX-License-Identifier: MIT
 *
 * These functions run on any thread, and in signal handlers.
 */
#include "watch/background.h"

void hd_background_set(struct hd_background *b, bool enters, uint64_t now_ns) {
    uint64_t since_ns = atomic_exchange(&b->since_ns, enters ? now_ns : 0);
    /* since_ns may be later than now_ns: another thread may read the clock after this thread, and store
     * since_ns before this thread exchanges it */
    if (since_ns != 0 && now_ns > since_ns) {
        atomic_fetch_add(&b->spent_ns, now_ns - since_ns);
    }
}

uint64_t hd_background_until(const struct hd_background *b, uint64_t at_ns) {
    uint64_t since_ns = atomic_load(&b->since_ns), spent_ns = atomic_load(&b->spent_ns);
    return spent_ns + (since_ns != 0 && at_ns > since_ns ? at_ns - since_ns : 0);
}
