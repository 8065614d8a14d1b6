/* SPDX-License-Identifier: MIT
 *
 * The evidence that one wait by itself gives for or against its being the loop's own.
 */
#ifndef HD_WAIT_EVIDENCE_H
#define HD_WAIT_EVIDENCE_H

/* In ascending order. The evidence of a group is the highest that one wait of the group gave. */
enum hd_wait_evidence {
    /* a request-reply function is on the stack, so the wait is never the loop's */
    HD_WAIT_EVIDENCE_REQUEST = -2,
    /* the descriptors are those of a request or of a child's output, so the wait is never the loop's */
    HD_WAIT_EVIDENCE_CALL = -1,
    HD_WAIT_EVIDENCE_PLAIN = 0, /* neither for nor against: later waits decide */
    /* Only loops wait for such descriptors: an epoll instance, a timer, a listening socket. */
    HD_WAIT_EVIDENCE_BY_KIND,
    HD_WAIT_EVIDENCE_BY_NAME, /* a known loop function makes the wait */
};

#endif
