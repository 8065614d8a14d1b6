/* SPDX-License-Identifier: MIT */
#include "cli/outside/turns.h"

/* The hook says how many turns there were, and how long the longest was. The others count as equally long. */
static void add_turns(const struct hd_hook_thread *seen, uint64_t histogram[HD_TURN_HISTOGRAM]) {
    if (seen->turns != 0) {
        histogram[hd_turn_bucket(seen->longest_ns)]++;
    }
    if (seen->turns > 1 && seen->busy_ns >= seen->longest_ns) {
        histogram[hd_turn_bucket((seen->busy_ns - seen->longest_ns) / (seen->turns - 1))] += seen->turns - 1;
    }
}

void outside_turns_add(struct outside_turns *sums, const struct outside_thread *t, uint64_t now_ns) {
    const struct watcher *w = t->process->watcher;
    uint64_t end_ns = t->ended_ns != 0 ? t->ended_ns : now_ns;
    uint64_t watched_ns = end_ns > t->added_ns ? end_ns - t->added_ns : 0;
    struct hd_hook_thread seen;
    if (t->certainty == HD_RECORD_NO_LOOP) {
        return;
    }
    w->way->read(w->hook, t->tid, &seen);
    sums->busy_ns += seen.busy_ns;
    sums->idle_ns += watched_ns > seen.busy_ns ? watched_ns - seen.busy_ns : 0;
    add_turns(&seen, sums->histogram);
}
