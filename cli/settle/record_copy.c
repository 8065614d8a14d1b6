/* SPDX-License-Identifier: MIT
 *
 * The runner's copy of a shared record. Pure.
 */
#include "cli/settle/record_copy.h"

#include <stddef.h>
#include <string.h>

/* Version 7 and the variant of RFC 9562. */
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

static void check_sum(_Atomic uint64_t *sum) {
    if (atomic_load_explicit(sum, memory_order_relaxed) > INT64_MAX) {
        atomic_store_explicit(sum, INT64_MAX, memory_order_relaxed);
    }
}

static void check_name(char *name, size_t size) {
    name[size - 1] = '\0';
    for (; *name != '\0'; name++) {
        *name = *name == '/' || (unsigned char)*name < ' ' ? '_' : *name;
    }
}

/* What the program may say of a child that it started, and of a program that it became. */
static void keep_own(struct hd_record_options *to, const struct hd_record_options *own) {
    memcpy(to->session, own->session, sizeof to->session);
    check_id(to->session);
    memcpy(to->app_name, own->app_name, sizeof to->app_name);
    check_name(to->app_name, sizeof to->app_name);
    memcpy(to->app_version, own->app_version, sizeof to->app_version);
    check_name(to->app_version, sizeof to->app_version);
    to->pid = own->pid;
    if (own->started_ns > to->started_ns) {
        to->started_ns = own->started_ns;
        to->started_wall_ns = own->started_wall_ns;
    }
}

static void check_turns(struct hd_record *to) {
    for (unsigned i = 0; i < HD_TURN_BUCKETS; i++) {
        check_sum(&to->turn_histogram[i]);
    }
    check_sum(&to->frames);
    check_sum(&to->frames_dropped);
    check_sum(&to->frame_ns);
    check_sum(&to->hitch_ns);
    for (unsigned i = 0; i < HD_FRAME_BUCKETS; i++) {
        check_sum(&to->frame_histogram[i]);
    }
}

void record_copy(struct hd_record *to, const struct hd_record *from, const struct hd_record_options *decided,
                 bool first) {
    static const size_t sums[] = {offsetof(struct hd_record, superseded_ns),
                                  offsetof(struct hd_record, image_ns),
                                  offsetof(struct hd_record, alive_ns),
                                  offsetof(struct hd_record, open_since_ns),
                                  offsetof(struct hd_record, open_duration_ns),
                                  offsetof(struct hd_record, ended_duration_ns),
                                  offsetof(struct hd_record, waits),
                                  offsetof(struct hd_record, waited_ns),
                                  offsetof(struct hd_record, hangs),
                                  offsetof(struct hd_record, hang_ns),
                                  offsetof(struct hd_record, reports),
                                  offsetof(struct hd_record, idle_ns),
                                  offsetof(struct hd_record, busy_ns),
                                  offsetof(struct hd_record, launch_ns),
                                  offsetof(struct hd_record, foreground_ns),
                                  offsetof(struct hd_record, foreground_since_ns),
                                  offsetof(struct hd_record, samples),
                                  offsetof(struct hd_record, signals),
                                  offsetof(struct hd_record, interrupted_syscalls),
                                  offsetof(struct hd_record, restarted_syscalls),
                                  offsetof(struct hd_record, pause_max_ns),
                                  offsetof(struct hd_record, pause_total_ns),
                                  offsetof(struct hd_record, cpu_ns),
                                  offsetof(struct hd_record, late_max_ns),
                                  offsetof(struct hd_record, spool_failed),
                                  offsetof(struct hd_record, reports_dropped),
                                  offsetof(struct hd_record, suppressed),
                                  offsetof(struct hd_record, suppressed_ns),
                                  offsetof(struct hd_record, suppressed_max_ns),
                                  offsetof(struct hd_record, withdrawn),
                                  offsetof(struct hd_record, stopped_ns)};
    memcpy(to, from, sizeof *to);
    struct hd_record_options own = to->options;
    uint8_t of_child;
    memcpy(&of_child, &own.of_child, sizeof of_child); /* a bool of any value */
    to->magic = HD_RECORD_MAGIC;
    to->bytes = sizeof *to;
    to->options = *decided;
    to->options.of_child = of_child != 0;
    if (!first) {
        keep_own(&to->options, &own);
    }
    check_id(to->session_id);
    check_id(to->open_id);
    check_state(&to->unwatched, HD_UNWATCHED_KINDS);
    check_state(&to->clean, HD_RECORD_STOPPED_EARLY + 1);
    check_state(&to->loop_seen, HD_RECORD_LOOP_CERTAIN + 1);
    check_state(&to->hang_open, HD_RECORD_HANG_FATAL + 1);
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        check_sum((_Atomic uint64_t *)(void *)((char *)to + sums[i]));
    }
    check_turns(to);
    if (atomic_load(&to->spool_error) < 0 || atomic_load(&to->spool_error) > 4095) {
        atomic_store(&to->spool_error, 0);
    }
}
