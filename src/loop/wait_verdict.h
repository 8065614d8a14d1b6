/* SPDX-License-Identifier: MIT
 *
 * The verdict of the recogniser for one wait. The recogniser looks for a thread's loop only if the program
 * does not mark its loops itself.
 */
#ifndef HD_WAIT_VERDICT_H
#define HD_WAIT_VERDICT_H

enum hd_wait_verdict {
    HD_WAIT_UNKNOWN, /* the recogniser has not found the loop yet */
    HD_WAIT_IDLE,    /* the loop's own wait */
    HD_WAIT_BUSY     /* another wait, which is a part of the loop's turn */
};

#endif
