/* SPDX-License-Identifier: MIT
 *
 * The kinds of descriptors that a wait is for, and the evidence that they give. Pure: the same code judges
 * live waits and recorded ones.
 */
#ifndef HD_KINDS_H
#define HD_KINDS_H

#include "recognise/descriptors.h"
#include "recognise/wait_evidence.h"

enum hd_kind {
    HD_KIND_OTHER,      /* a terminal, a device, a regular file */
    HD_KIND_LOOPS,      /* only a loop waits for it: a timerfd, a listening socket */
    HD_KIND_EVENTFD,    /* a request if it is the only one, else a wake-up */
    HD_KIND_PIPE,       /* to another process */
    HD_KIND_OWN_PIPE,   /* the process has both ends: a wake-up */
    HD_KIND_SOCKET,     /* to another process */
    HD_KIND_OWN_SOCKET, /* of a socket pair; the process has both ends */
    HD_KIND_CONNECTED,  /* a socket with a peer, the only member of an epoll instance */
    HD_KIND_CLOSED,     /* closed since the wait: a request closes what it used */
    HD_KINDS,
};

struct hd_kinds {
    bool known;   /* false: the system did not say */
    bool epoll;   /* the kinds are those of the epoll instance's members */
    bool library; /* no descriptors: a library's own function waits */
    uint32_t count;
    uint8_t kind[HD_WAIT_FDS]; /* enum hd_kind */
};

enum hd_wait_evidence hd_kinds_evidence(const struct hd_kinds *kinds);

#endif
