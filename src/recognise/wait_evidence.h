/* SPDX-License-Identifier: MIT
 *
 * Evidence: whether one wait by itself shows that it is a loop's.
 */
#ifndef HD_WAIT_EVIDENCE_H
#define HD_WAIT_EVIDENCE_H

/* In ascending order: a group of waits has the highest that one of them gave. */
enum hd_wait_evidence {
    HD_WAIT_EVIDENCE_REQUEST = -2, /* a request-reply function is on the stack: never a loop's */
    HD_WAIT_EVIDENCE_CALL =
        -1, /* its descriptors are those of a request, or of a child's output: never a loop's */
    HD_WAIT_EVIDENCE_PLAIN = 0, /* neither: later waits decide */
    HD_WAIT_EVIDENCE_BY_KIND,   /* only a loop waits for these descriptors: an epoll instance, a timer, a
                              listening   socket */
    HD_WAIT_EVIDENCE_BY_NAME,   /* a known loop function makes the call */
};

#endif
