/* SPDX-License-Identifier: MIT
 *
 * The kinds of descriptors that a wait is for, and what they say about it. Pure: the same code judges live
 * waits and recorded ones.
 */
#ifndef HD_KINDS_H
#define HD_KINDS_H

#include "recognise/descriptors.h"
#include "recognise/rule.h"

enum hd_kind {
    HD_KIND_OTHER,      /* a terminal, a device, a file */
    HD_KIND_LOOPS,      /* only a loop waits for it: a timerfd, a listening socket */
    HD_KIND_EVENTFD,    /* alone a request, beside others a wake-up */
    HD_KIND_PIPE,       /* to another process */
    HD_KIND_OWN_PIPE,   /* the process has both ends: a wake-up */
    HD_KIND_SOCKET,     /* to another process */
    HD_KIND_OWN_SOCKET, /* one of a pair, of which the process has both */
    HD_KIND_CONNECTED,  /* a socket that is alone in an epoll instance, and has a peer */
    HD_KIND_GONE,       /* closed since: as a request closes it */
    HD_KINDS,
};

struct hd_kinds {
    bool known;   /* false: /proc does not say */
    bool epoll;   /* of what the instance has */
    bool library; /* no descriptors: the wait is a library's own function */
    uint32_t count;
    uint8_t kind[HD_WAIT_FDS]; /* enum hd_kind */
};

enum hd_wait_evidence hd_kinds_evidence(const struct hd_kinds *kinds);

#endif
