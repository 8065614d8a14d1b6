/* SPDX-License-Identifier: MIT
 *
 * The evidence that one wait by itself gives for or against its being the loop's own.
 */
#ifndef HD_WAIT_EVIDENCE_H
#define HD_WAIT_EVIDENCE_H

/* The values are in ascending order. The evidence of a group is the highest that one wait of the group
 * gave. */
enum hd_wait_evidence {
    /* a function that sends a request and waits for the reply is on the stack, so the wait is never the
     * loop's */
    HD_WAIT_EVIDENCE_REQUEST = -2,
    /* the descriptors are those of a blocking call, such as a pipe from a child, so the wait is never the
     * loop's */
    HD_WAIT_EVIDENCE_CALL = -1,
    /* the wait gives evidence neither for nor against its being the loop's own, so later waits decide */
    HD_WAIT_EVIDENCE_PLAIN = 0,
    /* The wait has a descriptor for which only loops wait: an epoll instance, a timer, a listening socket. */
    HD_WAIT_EVIDENCE_BY_KIND,
    HD_WAIT_EVIDENCE_BY_NAME, /* a known function that runs a loop makes the wait */
};

#endif
