/* SPDX-License-Identifier: MIT
 *
 * The outbox: memory that a watched process shares with its runner. The process puts a report there if it
 * cannot write the report file itself. It cannot if it has dropped rights, has changed its root folder, or
 * has a limit on file size. The runner still has its rights, and writes the report into the spool.
 *
 * The outbox has space for one report. The runner does not trust the report's text.
 */
#ifndef HD_OUTBOX_H
#define HD_OUTBOX_H

#include <stdatomic.h>
#include <stdint.h>

#define HD_OUTBOX_TEXT_BYTES (1u << 20) /* the most bytes of a report; a larger one is dropped */

enum hd_outbox_state {
    HD_OUTBOX_EMPTY,
    /* The worker of one process writes a report's text. If this state has blocked the worker of another
     * process too long, that worker takes the outbox over. The reason: the first process has probably died.
     * The runner sets this state at its end, to close the outbox. */
    HD_OUTBOX_FILLING,
    HD_OUTBOX_FULL, /* the text is complete; the runner reads it, then sets HD_OUTBOX_EMPTY */
};

struct hd_outbox {
    /* An enum hd_outbox_state. The member is a futex word too: workers and the runner block in futex_wait
     * until it changes. */
    _Atomic uint32_t state;
    _Atomic uint32_t bytes;
    char text[HD_OUTBOX_TEXT_BYTES]; /* a JSON document without a NUL at its end */
};

#endif
