/* SPDX-License-Identifier: MIT
 *
 * The way for a report that its process may not write itself: it dropped its rights, changed its root, or may
 * write no file of that size. It lies in memory that the process shares with its runner, which kept its
 * rights, and writes the report into the spool. One report at a time. Not trusted by the runner.
 */
#ifndef HD_OUTBOX_H
#define HD_OUTBOX_H

#include <stdatomic.h>
#include <stdint.h>

#define HD_OUTBOX_TEXT_BYTES (1u << 20) /* a larger report is not written */

enum hd_outbox_state {
    HD_OUTBOX_EMPTY,
    HD_OUTBOX_FILLING, /* by a worker; others wait for a while and then take it over */
    HD_OUTBOX_FULL,    /* the runner takes it, and makes it empty */
};

struct hd_outbox {
    _Atomic uint32_t state; /* enum hd_outbox_state; a futex */
    _Atomic uint32_t bytes;
    char text[HD_OUTBOX_TEXT_BYTES]; /* the JSON document */
};

#endif
