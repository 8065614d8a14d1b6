/* SPDX-License-Identifier: MIT
 *
 * The outbox: memory that a watched process shares with its runner. A process that dropped its rights,
 * changed its root or has a limit on file size stores a report here. The runner, which kept its rights,
 * writes the report into the spool. One report at a time. The runner does not trust the text.
 */
#ifndef HD_OUTBOX_H
#define HD_OUTBOX_H

#include <stdatomic.h>
#include <stdint.h>

#define HD_OUTBOX_TEXT_BYTES (1u << 20) /* a larger report is dropped */

enum hd_outbox_state {
    HD_OUTBOX_EMPTY,
    HD_OUTBOX_FILLING, /* by one process's worker; another worker waits for a while, then takes the outbox
                          over */
    HD_OUTBOX_FULL,    /* the runner reads the text and sets EMPTY */
};

struct hd_outbox {
    _Atomic uint32_t state; /* enum hd_outbox_state; also a futex */
    _Atomic uint32_t bytes;
    char text[HD_OUTBOX_TEXT_BYTES]; /* a JSON document, without NUL */
};

#endif
