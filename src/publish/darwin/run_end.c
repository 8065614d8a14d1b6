/* SPDX-License-Identifier: MIT
 *
 * The first reason that applies is the word. Facts that the process itself stored come first. A reboot or an
 * update ends each program, so a hang or a lack of memory before it is no reason.
 */
#include "publish/darwin/run_end.h"

#include <string.h>

/* The system ends a program whose memory is nearly at its limit. */
#define NEAR_LIMIT_PERCENT 95

static bool was_memory_short(const struct hd_life_values *of) {
    uint64_t used = atomic_load(&of->footprint_bytes), left = atomic_load(&of->limit_remaining_bytes);
    bool near_limit = left != 0 && left <= UINT64_MAX - used &&
                      used >= (used + left) / 100 * NEAR_LIMIT_PERCENT && used != 0;
    return near_limit || atomic_load(&of->pressed);
}

static bool is_same_text(const char *a, const char *b, size_t size) {
    return strncmp(a, b, size) == 0;
}

const char *hd_run_end(const struct hd_record *was, const struct hd_life_values *of,
                       const struct hd_life_values *now) {
    bool foreground = atomic_load(&was->turns.foreground_since_ns) != 0;
    if (atomic_load(&of->crashed)) {
        return "crash";
    }
    if (atomic_load(&was->status.end) != HD_RECORD_RUNS) {
        return "clean";
    }
    if (atomic_load(&of->debugger)) {
        return "debugger";
    }
    if (!is_same_text(of->os_version, now->os_version, sizeof of->os_version)) {
        return "system-upgrade";
    }
    if (!is_same_text(of->boot, now->boot, sizeof of->boot)) {
        return "reboot";
    }
    if (!is_same_text(of->app_version, now->app_version, sizeof of->app_version) ||
        memcmp(of->build_id, now->build_id, sizeof of->build_id) != 0) {
        return "upgrade";
    }
    if (atomic_load(&was->open.state) == HD_RECORD_HANG_LASTS) {
        return "fatal-hang";
    }
    /* In the background the system ends programs as it likes. */
    return was_memory_short(of) && foreground ? "out-of-memory" : foreground ? "killed" : "unknown";
}
