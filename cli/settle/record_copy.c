/* SPDX-License-Identifier: MIT */
#include "cli/settle/record_copy.h"

#include <stddef.h>
#include <string.h>

/* True: the id is a UUID of version 7, with the variant bits of RFC 9562. */
static bool is_uuid(const uint8_t id[HD_UUID_BYTES]) {
    return id[6] >> 4 == 7 && id[8] >> 6 == 2;
}

static void check_id(uint8_t id[HD_UUID_BYTES]) {
    if (!is_uuid(id)) {
        memset(id, 0, HD_UUID_BYTES);
    }
}

static void check_state(_Atomic uint32_t *state, uint32_t count) {
    if (atomic_load_explicit(state, memory_order_relaxed) >= count) {
        atomic_store_explicit(state, 0, memory_order_relaxed);
    }
}

/* The largest time or sum that the copy of a record has: 4.5 years in nanoseconds. With this limit the sum
 * of a histogram's buckets, or of two times, fits into a JSON integer. */
#define SUM_MAX ((uint64_t)INT64_MAX / 64)
_Static_assert(HD_TURN_BUCKETS <= 64 && HD_FRAME_BUCKETS <= 64, "a sum of buckets is at most INT64_MAX");

static void check_sum(_Atomic uint64_t *sum) {
    if (atomic_load_explicit(sum, memory_order_relaxed) > SUM_MAX) {
        atomic_store_explicit(sum, SUM_MAX, memory_order_relaxed);
    }
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static void check_name(char *name, size_t size) {
    name[size - 1] = '\0';
    for (; *name != '\0'; name++) {
        *name = *name == '/' || (unsigned char)*name < ' ' ? '_' : *name;
    }
}

/* Takes the session, the app's name and version, the process id and the start time from `own`, the options
 * in the program's record. A child, and a program after exec, have values of their own. */
static void keep_own(struct hd_record_options *to, const struct hd_record_options *own) {
    memcpy(to->session, own->session, sizeof to->session);
    check_id(to->session);
    memcpy(to->app_name, own->app_name, sizeof to->app_name);
    check_name(to->app_name, sizeof to->app_name);
    memcpy(to->app_version, own->app_version, sizeof to->app_version);
    check_name(to->app_version, sizeof to->app_version);
    to->pid = own->pid > 0 ? own->pid : 0;
    if (own->started_ns > to->started_ns) {
        to->started_ns = least(own->started_ns, to->started_ns + SUM_MAX);
        to->started_wall_ns = least(own->started_wall_ns, to->started_wall_ns + SUM_MAX);
    }
}

static void check_turns(struct hd_record *to) {
    for (unsigned i = 0; i < HD_TURN_BUCKETS; i++) {
        check_sum(&to->turns.histogram[i]);
    }
    check_sum(&to->frames.count);
    check_sum(&to->frames.dropped);
    check_sum(&to->frames.total_ns);
    check_sum(&to->frames.hitch_ns);
    for (unsigned i = 0; i < HD_FRAME_BUCKETS; i++) {
        check_sum(&to->frames.histogram[i]);
    }
}

static void check_sums(struct hd_record *to) {
#define SUM(name) offsetof(struct hd_record, name)
    static const size_t sums[] = {SUM(owner.superseded_ns),
                                  SUM(owner.image_ns),
                                  SUM(status.alive_ns),
                                  SUM(open.since_ns),
                                  SUM(open.duration_ns),
                                  SUM(open.ended_duration_ns),
                                  SUM(loop.waits),
                                  SUM(loop.waited_ns),
                                  SUM(hangs.count),
                                  SUM(hangs.total_ns),
                                  SUM(hangs.max_ns),
                                  SUM(hangs.reports),
                                  SUM(hangs.complete_reports),
                                  SUM(runner.mirrored_ns),
                                  SUM(pools.stalls),
                                  SUM(pools.stall_ns),
                                  SUM(pools.max_ns),
                                  SUM(turns.idle_ns),
                                  SUM(turns.busy_ns),
                                  SUM(turns.launch_ns),
                                  SUM(turns.foreground_ns),
                                  SUM(turns.foreground_since_ns),
                                  SUM(cost.samples),
                                  SUM(cost.signals),
                                  SUM(cost.interrupted_syscalls),
                                  SUM(cost.restarted_syscalls),
                                  SUM(cost.pause_max_ns),
                                  SUM(cost.pause_total_ns),
                                  SUM(cost.cpu_ns),
                                  SUM(cost.late_max_ns),
                                  SUM(losses.spool_failures),
                                  SUM(losses.dropped_reports),
                                  SUM(losses.suppressed),
                                  SUM(losses.suppressed_ns),
                                  SUM(losses.suppressed_max_ns),
                                  SUM(losses.withdrawn),
                                  SUM(runner.stopped_ns)};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        check_sum((_Atomic uint64_t *)(void *)((char *)to + sums[i]));
    }
}

void record_copy(struct hd_record *to, const struct hd_record *from, const struct hd_record_options *decided,
                 bool first) {
    memcpy(to, from, sizeof *to);
    struct hd_record_options own = to->options;
    uint8_t of_child;
    /* The code reads `of_child` as a byte, because the program may store any value, and a bool must be 0 or
     * 1. */
    memcpy(&of_child, &own.of_child, sizeof of_child);
    to->magic = HD_RECORD_MAGIC;
    to->bytes = sizeof *to;
    to->options = *decided;
    to->options.of_child = of_child != 0;
    if (!first) {
        keep_own(&to->options, &own);
    }
    check_id(to->open.session_id);
    check_id(to->open.hang_id);
    check_state(&to->status.unwatched, HD_UNWATCHED_KINDS);
    check_state(&to->status.end, HD_RECORD_STOPPED_EARLY + 1);
    check_state(&to->loop.certainty, HD_RECORD_LOOP_CERTAIN + 1);
    check_state(&to->open.state, HD_RECORD_HANG_FATAL + 1);
    check_sums(to);
    check_turns(to);
    if (atomic_load(&to->owner.pid) > INT32_MAX) { /* not a process id */
        atomic_store(&to->owner.pid, 0);
    }
    if (atomic_load(&to->losses.spool_error) < 0 || atomic_load(&to->losses.spool_error) > 4095) {
        atomic_store(&to->losses.spool_error, 0);
    }
}
