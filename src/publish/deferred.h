/* SPDX-License-Identifier: MIT
 *
 * The deferred reports of the run. Their files are in the spool, but readers see a report only once its loop
 * is certain. On the worker thread.
 */
#ifndef HD_DEFERRED_H
#define HD_DEFERRED_H

#include "base/types.h"

#define HD_DEFERRED_MAX 64

struct hd_deferred {
    uint32_t count;
    uint8_t id[HD_DEFERRED_MAX][HD_UUID_BYTES];
    uint8_t slot[HD_DEFERRED_MAX]; /* the slot of the report's loop */
    uint32_t generation[HD_DEFERRED_MAX];
    uint64_t duration_ns[HD_DEFERRED_MAX];
};

/* Adds a report to the deferred reports. The caller must have checked that their `count` is below
 * HD_DEFERRED_MAX. */
void hd_deferred_add(struct hd_deferred *d, const uint8_t *id, uint8_t slot, uint32_t generation,
                     uint64_t duration_ns);
/* Removes the report with this id from the deferred reports. False: no deferred report has this id. */
bool hd_deferred_remove(struct hd_deferred *d, const uint8_t *id);
void hd_deferred_remove_at(struct hd_deferred *d, uint32_t at);

/* Searches from index `at` on for a report of the loop that had this slot in this generation. Returns the
 * report's index, or d->count if no report is found. If another loop gets the slot, the worker learns nothing
 * more about the earlier loop. Reports of the earlier loop then stay deferred until the run ends. */
uint32_t hd_deferred_find(const struct hd_deferred *d, uint32_t at, uint8_t slot, uint32_t generation);

#endif
