/* SPDX-License-Identifier: MIT
 *
 * The verdict on a wait of a thread whose loop is recognised, not marked.
 */
#ifndef HD_WAIT_VERDICT_H
#define HD_WAIT_VERDICT_H

enum hd_wait_verdict {
    HD_WAIT_UNKNOWN, /* no loop is known yet */
    HD_WAIT_IDLE,    /* the loop's own wait */
    HD_WAIT_BUSY     /* any other wait: a part of the loop's turn */
};

#endif
