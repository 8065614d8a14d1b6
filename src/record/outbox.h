/* SPDX-License-Identifier: MIT
 *
 * The outbox: memory that a watched process shares with its runner. The process puts a report there if it
 * cannot write the report itself. It cannot if it has dropped rights, has changed its root folder, or has a
 * limit on file size. The runner still has its rights, and writes the report into the spool.
 *
 * The outbox has space for one report. The runner does not trust the text.
 */
#ifndef HD_OUTBOX_H
#define HD_OUTBOX_H

#include <stdatomic.h>
#include <stdint.h>

#define HD_OUTBOX_TEXT_BYTES (1u << 20) /* a larger report is dropped */

enum hd_outbox_state {
    HD_OUTBOX_EMPTY,
    /* The worker of one process writes the text. If the worker of another process has waited too long, it
     * takes the outbox over, since the first process has probably died. */
    HD_OUTBOX_FILLING,
    HD_OUTBOX_FULL, /* the text is complete; the runner reads it, then sets HD_OUTBOX_EMPTY */
};

struct hd_outbox {
    /* An enum hd_outbox_state. The member is a futex word too: workers and the runner wait for its change. */
    _Atomic uint32_t state;
    _Atomic uint32_t bytes;
    char text[HD_OUTBOX_TEXT_BYTES]; /* a JSON document without a NUL at its end */
};

#endif
