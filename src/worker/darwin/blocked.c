/* SPDX-License-Identifier: MIT
 *
 * Only the preload of Linux has a recogniser, and knows pools of threads that serve one loop in turn.
 */
#include "worker/blocked.h"

void hd_blocked_send(const struct hd_run *run, const struct hd_probe_context *probe,
                     const struct hd_turn *turn, const struct hd_capture *c, uint32_t depth) {
    (void)run;
    (void)probe;
    (void)turn;
    (void)c;
    (void)depth;
}

bool hd_blocked_is_served(const struct hd_run *run, const struct hd_probe_context *probe,
                          const struct hd_turn *turn, const struct hd_sample *sample) {
    (void)run;
    (void)probe;
    (void)turn;
    (void)sample;
    return false;
}
