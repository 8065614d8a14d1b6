/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog without its library, for builds that leave it out. Include this header in place of
 * hangdog/hangdog.h, and link nothing. Each function has the type that hangdog/hangdog.h declares, and does
 * nothing.
 *
 * hangdog_start() and hangdog_stop() return 0, hangdog_loop_watch() returns NULL. The other functions that
 * return an error do so as if Hangdog did not run. All files of a program must include the same header.
 */
#ifndef HANGDOG_STUB_H
#define HANGDOG_STUB_H

#ifdef HANGDOG_H
#error "Include hangdog/hangdog_stub.h in place of hangdog/hangdog.h, not after it"
#endif

/** @cond */
#define HANGDOG_API static inline
#include <errno.h>

#include <hangdog/hangdog.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline const char *hangdog_version(void) {
    return HANGDOG_VERSION;
}

static inline int hangdog_start(const hangdog_options *options) {
    (void)options;
    return 0;
}

static inline int hangdog_stop(void) {
    return 0;
}

static inline long hangdog_report_now(char *buffer, size_t size, hangdog_form form) {
    (void)buffer;
    (void)size;
    (void)form;
    return -ESRCH;
}

static inline hangdog_loop *hangdog_loop_watch(const char *name, uint64_t threshold_ns) {
    (void)name;
    (void)threshold_ns;
    return NULL;
}

static inline void hangdog_loop_unwatch(hangdog_loop *loop) {
    (void)loop;
}

static inline int hangdog_watch_ping(hangdog_loop *loop, hangdog_post post, void *context) {
    (void)loop;
    (void)post;
    (void)context;
    return -EINVAL;
}

static inline void hangdog_mark(hangdog_loop *loop, hangdog_activity activity) {
    (void)loop;
    (void)activity;
}

static inline void hangdog_before_wait(hangdog_loop *loop) {
    (void)loop;
}

static inline void hangdog_after_wait(hangdog_loop *loop) {
    (void)loop;
}

static inline void hangdog_turn(hangdog_loop *loop) {
    (void)loop;
}

static inline void hangdog_frame(hangdog_loop *loop) {
    (void)loop;
}

static inline void hangdog_label(hangdog_loop *loop, const char *text, const char *traceparent) {
    (void)loop;
    (void)text;
    (void)traceparent;
}

static inline void hangdog_expect_block(hangdog_loop *loop) {
    (void)loop;
}

static inline void hangdog_expect_block_end(hangdog_loop *loop) {
    (void)loop;
}

static inline void hangdog_pause(void) {}

static inline void hangdog_resume(void) {}

static inline void hangdog_set_state(hangdog_state state) {
    (void)state;
}

static inline int hangdog_set_threshold(hangdog_loop *loop, uint64_t threshold_ns) {
    (void)loop;
    (void)threshold_ns;
    return -EINVAL;
}

static inline int hangdog_set_state_threshold(hangdog_state state, uint64_t threshold_ns) {
    (void)state;
    (void)threshold_ns;
    return -ESRCH;
}

static inline int hangdog_set_interval(uint64_t interval_ns) {
    (void)interval_ns;
    return -ESRCH;
}

static inline int hangdog_stats(hangdog_totals *totals) {
    (void)totals;
    return -ESRCH;
}

static inline int hangdog_loop_stats(hangdog_loop *loop, hangdog_loop_totals *totals) {
    (void)loop;
    (void)totals;
    return -EINVAL;
}

static inline int hangdog_next_event(hangdog_event *event, uint64_t timeout_ns) {
    (void)event;
    (void)timeout_ns;
    return -ESRCH;
}

#ifdef __cplusplus
}
#endif
/** @endcond */
#endif
