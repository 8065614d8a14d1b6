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
    HD_KIND_LOOPS, /* a descriptor for which only loops wait, such as a timerfd */
    /* An eventfd. If a wait is for an eventfd and nothing else, a blocking call makes the wait. Among other
     * descriptors an eventfd serves to wake the thread from its wait. */
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
    bool known; /* false: the kinds of the descriptors could not be read */
    /* True: the wait is for an epoll instance, and `kind` has the kinds of this instance's members. */
    bool epoll;
    bool library;  /* true: the wait function is a library's own, and takes no descriptors */
    bool accepts;  /* true: the wait is an accept */
    bool accepted; /* true: the wait is for a connection that the thread accepted */
    /* True: the thread has not waited in this accept for the second time. A program that accepts one
     * connection is no server yet. */
    bool once;
    uint32_t count;
    uint8_t kind[HD_WAIT_FDS]; /* enum hd_kind */
};

enum hd_wait_evidence hd_kinds_evidence(const struct hd_kinds *kinds);

#endif
