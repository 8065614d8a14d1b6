/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for systemd's sd-event: each wait of a loop is marked.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_loop *loop = hangdog_loop_watch("main", 0);
 * hangdog_sd_event_loop(loop, event);
 * hangdog_loop_unwatch(loop);
 * @endcode
 *
 * sd-event calls nothing between its wait and the next callback. So the loop is driven by its three steps
 * (prepare, wait, dispatch), and the wait is marked.
 *
 * The functions are inline. The program links libsystemd itself. Only the loop's thread may call them.
 */
#ifndef HANGDOG_SD_EVENT_H
#define HANGDOG_SD_EVENT_H

#include <systemd/sd-event.h>

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Runs one iteration of a loop. Call this function in place of sd_event_run().
 *
 * @param loop The handle; NULL: the function only runs the iteration.
 * @param event The loop.
 * @param timeout_us The longest wait in microseconds; UINT64_MAX: no limit.
 * @return As sd_event_run(): more than 0 if a callback was called, 0 if none was, or a negative errno value.
 */
static inline int hangdog_sd_event_run(hangdog_loop *loop, sd_event *event, uint64_t timeout_us) {
    int ready = sd_event_prepare(event);
    if (ready > 0) { /* sd-event has polled with a zero timeout. */
        hangdog_turn(loop);
    } else if (ready == 0) {
        hangdog_before_wait(loop);
        ready = sd_event_wait(event, timeout_us);
        hangdog_after_wait(loop);
    }
    if (ready <= 0) {
        return ready;
    }
    int result = sd_event_dispatch(event);
    return result < 0 ? result : 1;
}

/**
 * Runs a loop until its end. Call this function in place of sd_event_loop(). After it the loop is idle.
 *
 * @param loop The handle; NULL: the function only runs the loop.
 * @param event The loop.
 * @return As sd_event_loop(): the code of sd_event_exit(), or a negative errno value.
 */
static inline int hangdog_sd_event_loop(hangdog_loop *loop, sd_event *event) {
    int code = 0;
    int result = 0;
    sd_event_ref(event); /* A callback may drop the program's reference. */
    hangdog_mark(loop, HANGDOG_BEFORE_TIMERS);
    while (result >= 0 && sd_event_get_state(event) != SD_EVENT_FINISHED) {
        result = hangdog_sd_event_run(loop, event, UINT64_MAX);
    }
    if (result >= 0) {
        (void)sd_event_get_exit_code(event, &code);
    }
    hangdog_mark(loop, HANGDOG_EXIT);
    sd_event_unref(event);
    return result < 0 ? result : code;
}

#ifdef __cplusplus
}
#endif
#endif
