/* SPDX-License-Identifier: MIT
 *
 * The descriptors of one wait, as the thread passes them to the call: numbers only. open_files.h reads which
 * files are open behind them.
 */
#ifndef HD_DESCRIPTORS_H
#define HD_DESCRIPTORS_H

#include "base/types.h"

#define HD_WAIT_FDS 16u

struct hd_wait_descriptors {
    bool epoll;                /* fd[0] is an epoll instance, and is the only number */
    uint8_t fds;               /* numbers in `fd`; of a larger set the first ones */
    uint16_t listens;          /* bit i: fd[i] is a listening socket */
    uint32_t epoll_generation; /* differs between instances that had the same number; 0: not counted */
    int32_t fd[HD_WAIT_FDS];
};

/* A "number" from here on stands for a library whose own function waits (Tcl, SDL), without descriptors. */
#define HD_WAIT_LIBRARY 0x7fffff00
static inline bool hd_wait_is_library(int epoll) {
    return epoll >= HD_WAIT_LIBRARY;
}

#endif
