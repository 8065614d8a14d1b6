/* SPDX-License-Identifier: MIT
 *
 * This system has no CPU quota of a group of processes.
 */
#include "cause/throttled.h"

void hd_throttled_init(struct hd_probe_context *ctx) {
    (void)ctx;
}

uint64_t hd_throttled_ns(const struct hd_probe_context *ctx) {
    (void)ctx;
    return 0;
}
