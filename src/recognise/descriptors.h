/* SPDX-License-Identifier: MIT
 *
 * The descriptor numbers that a thread passes to one wait. open_files.h finds out which open files these
 * numbers mean.
 */
#ifndef HD_DESCRIPTORS_H
#define HD_DESCRIPTORS_H

#include "base/types.h"

#define HD_WAIT_FDS 16u

struct hd_wait_descriptors {
    /* True: the thread waits for an epoll instance. fd[0] has the number of this instance, and `fd` has no
     * other number. */
    bool epoll;
    /* The number of descriptors in `fd`. If a wait has more than HD_WAIT_FDS descriptors, `fd` has the first
     * ones. */
    uint8_t fds;
    uint16_t listens; /* bit i is set if fd[i] is a listening socket */
    bool accepts;     /* true: the thread waits in accept */
    bool accepted;    /* true: fd[0] is the only descriptor, and a connection that the thread accepted */
    /* Distinguishes epoll instances that had the same descriptor number, one after the other. 0: not
     * known. */
    uint32_t epoll_generation;
    int32_t fd[HD_WAIT_FDS];
};

/* If fd[0] is this number or a larger one, it is not a descriptor number. It stands for a library (Tcl, SDL)
 * whose wait function takes no descriptors. */
#define HD_WAIT_LIBRARY 0x7fffff00
static inline bool hd_wait_is_library(int epoll) {
    return epoll >= HD_WAIT_LIBRARY;
}

#endif
