/* SPDX-License-Identifier: MIT
 *
 * A debug mode: with HANGDOG_RECORD=FILE in the environment every wait of the main thread is written to FILE,
 * one line each (tests/recognition/README.md has the format), so that the rule can be replayed on it. It
 * works with and without the runner, and costs one predictable branch when it is off. Watched thread, which
 * it slows by some tenths of a millisecond a wait; no allocation, errno is kept.
 */
#ifndef HD_RECORDER_H
#define HD_RECORDER_H

#include <poll.h>
#include <sys/select.h>

#include "base/types.h"

extern bool hd_recorder_on;

/* What a wait function was called with. */
struct hd_recorded_wait {
    const char *function;
    int64_t timeout_ns; /* negative: for ever */
    const struct pollfd *fds;
    uint64_t count; /* of fds, or select's first argument */
    const fd_set *sets[3];
    const int *epoll; /* an epoll instance, or NULL */
};

/* The constructor's. Ordinary code. */
void hd_recorder_start(const char *file);

/* Around the real call. begin does nothing on other threads. */
void hd_recorder_begin(const struct hd_recorded_wait *w);
void hd_recorder_end(int result);

/* An epoll instance was made: its number has a new generation. */
void hd_recorder_epoll(int epfd);

#endif
