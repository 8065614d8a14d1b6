/* SPDX-License-Identifier: MIT
 *
 * A program whose main thread is a watched loop: start, turns with work, stop.
 */
#ifndef APPLE_SUBJECT_WATCHED_H
#define APPLE_SUBJECT_WATCHED_H

#include <stdint.h>

#include "hangdog/hangdog.h"
#include "subject.h"

#define MS 1000000ull
#define THRESHOLD_MS 300

static hangdog_loop *watched_loop;

static inline void watched_start(const char *name, const char *spool, hangdog_options *o) {
    o->size = sizeof *o;
    o->app_name = name;
    o->app_version = "1.0";
    o->spool = spool;
    o->reports_per_day = o->reports_per_fingerprint = UINT32_MAX;
    for (int i = 0; i < HANGDOG_STATES; i++) {
        o->threshold_ns[i] = THRESHOLD_MS * MS;
    }
    CHECK_EQUAL(0, hangdog_start(o));
    watched_loop = hangdog_loop_watch("main", 0);
    CHECK(watched_loop != NULL);
    hangdog_before_wait(watched_loop);
    nap_ms(50);
}

/* A turn of the loop, in which `work` runs. */
static inline void watched_turn(void (*work)(unsigned), unsigned argument) {
    hangdog_after_wait(watched_loop);
    work(argument);
    hangdog_before_wait(watched_loop);
    nap_ms(50);
}

static inline void watched_stop(void) {
    nap_ms(300); /* for the report of a turn that has just ended */
    hangdog_loop_unwatch(watched_loop);
    CHECK_EQUAL(0, hangdog_stop());
}

/* Runs on a CPU for `ms` milliseconds. */
static inline void spin_ms(unsigned ms) {
    uint64_t until = now_ns() + ms * MS;
    volatile unsigned turns = 0;
    while (now_ns() < until) {
        for (unsigned i = 0; i < 20000; i++) {
            turns = turns + i;
        }
    }
}

#endif
