/* SPDX-License-Identifier: MIT
 *
 * The evidence that one wait by itself gives for or against its being the loop's own.
 */
#ifndef HD_WAIT_EVIDENCE_H
#define HD_WAIT_EVIDENCE_H

/* A higher value is stronger evidence for the loop. The evidence of a group is the highest value that one
 * wait of the group gave. */
enum hd_wait_evidence {
    /* A function on the stack sends a request and waits for its reply. The wait is for this reply, so it is
     * never the loop's own. */
    HD_WAIT_EVIDENCE_REQUEST = -2,
    /* The descriptors are those of a blocking call, such as a pipe from a child. So the wait is never the
     * loop's own. */
    HD_WAIT_EVIDENCE_CALL = -1,
    /* The wait gives evidence neither for nor against its being the loop's own. The number and the total time
     * of such waits then decide. */
    HD_WAIT_EVIDENCE_PLAIN = 0,
    /* The descriptors are those of a loop's wait, for example an epoll instance or a listening socket. */
    HD_WAIT_EVIDENCE_BY_KIND,
    HD_WAIT_EVIDENCE_BY_NAME, /* a loop function in known_functions.c makes the wait */
};

#endif
