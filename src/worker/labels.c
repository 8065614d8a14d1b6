/* SPDX-License-Identifier: MIT */
#include "worker/labels.h"

#include "worker/loop_clock.h"

void hd_labels_read(const struct hd_run *run, struct hd_turn *turn, uint64_t start_ticks, uint64_t at_ns,
                    uint64_t for_ns) {
    const struct hd_watch *w = hd_watch_at(&run->watches, turn->loop.slot);
    struct hd_label_text seen;
    uint64_t ticks, set_ns;
    if (w->generation != turn->loop.generation || !hd_label_read(&w->label, &ticks, &seen)) {
        return;
    }
    if (ticks < start_ticks) {
        seen = (struct hd_label_text){0};
    } else {
        set_ns = hd_loop_clock_of(&w->loop, ticks);
        if (set_ns == 0 || set_ns > at_ns) {
            return;
        }
    }
    hd_label_clean(&seen);
    hd_turn_label_add(&turn->label, &seen, for_ns);
}
