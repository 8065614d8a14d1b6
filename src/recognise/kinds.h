/* SPDX-License-Identifier: MIT
 *
 * The kinds of the descriptors that a thread waits for, and the evidence that these kinds give. Pure: the
 * same code serves live waits and recorded waits.
 */
#ifndef HD_KINDS_H
#define HD_KINDS_H

#include "recognise/descriptors.h"
#include "recognise/wait_evidence.h"

enum hd_kind {
    HD_KIND_OTHER, /* a terminal, a device, a regular file */
    HD_KIND_LOOPS, /* only loops wait for such a descriptor: a timerfd, a listening socket */
    /* An eventfd. A wait for no other descriptor is a blocking call's. Among other descriptors an eventfd
     * serves to wake the loop. */
    HD_KIND_EVENTFD,
    HD_KIND_PIPE,       /* a pipe to another process */
    HD_KIND_OWN_PIPE,   /* a pipe with both ends in this process: one thread wakes another by it */
    HD_KIND_SOCKET,     /* a socket, usually to another process */
    HD_KIND_OWN_SOCKET, /* a socket of a pair with both ends in this process */
    HD_KIND_CONNECTED,  /* a socket that has a peer and is the only member of an epoll instance */
    /* a descriptor that the program has closed since the wait started, as a blocking call does at its end */
    HD_KIND_CLOSED,
    HD_KINDS,
};

struct hd_kinds {
    bool known; /* false: the kinds could not be read */
    /* True: the wait is for an epoll instance, and `kind` has the kinds of this instance's members. */
    bool epoll;
    bool library; /* true: a library's own function waits, and takes no descriptors */
    uint32_t count;
    uint8_t kind[HD_WAIT_FDS]; /* enum hd_kind */
};

enum hd_wait_evidence hd_kinds_evidence(const struct hd_kinds *kinds);

#endif
