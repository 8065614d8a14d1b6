/* SPDX-License-Identifier: MIT
 *
 * The descriptors of one wait, as the thread passes them to the call. Numbers only: open_files.h reads what
 * is open behind them.
 */
#ifndef HD_DESCRIPTORS_H
#define HD_DESCRIPTORS_H

#include "base/types.h"

#define HD_WAIT_FDS 16u

struct hd_wait_descriptors {
    bool epoll;                /* fd[0] is an epoll instance, and there is no other number */
    uint32_t epoll_generation; /* tells instances apart that had the same number; 0 where no one counts */
    uint32_t fds;              /* how many of `fd` are set; a larger set keeps its first ones */
    uint16_t listens;          /* bit i: fd[i] is a listening socket */
    int32_t fd[HD_WAIT_FDS];
};

/* From here on a "number" is a library whose own function waits (Tcl, SDL), and not by descriptors. */
#define HD_WAIT_LIBRARY 0x7fffff00
static inline bool hd_wait_is_library(int epoll) {
    return epoll >= HD_WAIT_LIBRARY;
}

#endif
