/* SPDX-License-Identifier: MIT
 *
 * Writes every wait of the main thread to a file, a line each (tests/recognition/README.md has the format),
 * so that the rule can be replayed on it. A library of its own for LD_PRELOAD, with the file's name in
 * HANGDOG_RECORD; no part of the product. It slows a wait by some tenths of a millisecond.
 */
#ifndef HD_RECORDER_H
#define HD_RECORDER_H

#include <poll.h>
#include <sys/select.h>

#include "base/types.h"

/* What a wait function was called with. */
struct hd_recorded_wait {
    const char *function;
    int64_t timeout_ns; /* negative: for ever */
    const struct pollfd *fds;
    uint64_t count; /* of fds, or select's first argument */
    const fd_set *sets[3];
    const int *epoll; /* an epoll instance, or NULL */
    char library;     /* 'T' Tcl, 'S' SDL: its own function waits, and not by descriptors; 0: none */
};

/* From the constructor. */
void hd_recorder_start(const char *file);

/* Around the real call; errno is kept. Both do nothing on other threads, and before the start. */
void hd_recorder_begin(const struct hd_recorded_wait *w);
void hd_recorder_end(int result);

/* Between these the library waits by means of its own, which are no waits of the program's. */
void hd_recorder_enter(void);
void hd_recorder_leave(void);

/* The program made an epoll instance: its number has a new generation. */
void hd_recorder_epoll(int epfd);

#endif
