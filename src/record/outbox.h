/* SPDX-License-Identifier: MIT
 *
 * The outbox: memory that a watched process shares with its runner. It carries reports that the process
 * cannot write itself, since it dropped rights, changed its root folder, or has a limit on file size. The
 * runner, which kept its rights, writes these reports into the spool.
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
    /* The worker of one process writes the text. The worker of another process waits for a while, then
     * takes the outbox over. */
    HD_OUTBOX_FILLING,
    HD_OUTBOX_FULL, /* the runner reads the text, then sets HD_OUTBOX_EMPTY */
};

struct hd_outbox {
    _Atomic uint32_t state; /* enum hd_outbox_state; also a futex word */
    _Atomic uint32_t bytes;
    char text[HD_OUTBOX_TEXT_BYTES]; /* a JSON document without a NUL at its end */
};

#endif
