/* SPDX-License-Identifier: MIT
 *
 * The table of deferred reports. The spool has them; readers see them once their loop is certain. On the
 * worker thread.
 */
#ifndef HD_DEFERRED_H
#define HD_DEFERRED_H

#include "base/types.h"

#define HD_DEFERRED_MAX 64

struct hd_deferred {
    uint32_t count;
    uint8_t id[HD_DEFERRED_MAX][HD_UUID_BYTES];
    uint8_t slot[HD_DEFERRED_MAX]; /* of the loop among the watches */
    uint32_t generation[HD_DEFERRED_MAX];
    uint64_t duration_ns[HD_DEFERRED_MAX];
};

/* Adds a report. The caller has checked that the table is not full. */
void hd_deferred_add(struct hd_deferred *d, const uint8_t *id, uint8_t slot, uint32_t generation,
                     uint64_t duration_ns);
/* Removes a report. True: it was in the table. */
bool hd_deferred_remove(struct hd_deferred *d, const uint8_t *id);
void hd_deferred_remove_at(struct hd_deferred *d, uint32_t at);

/* Finds, from index `at` on, the first report of the loop that had this slot in this generation. Returns
 * d->count after the last one. Reports of a loop that lost its slot stay deferred until the run ends: the
 * worker learns nothing more about that loop. */
uint32_t hd_deferred_find(const struct hd_deferred *d, uint32_t at, uint8_t slot, uint32_t generation);

#endif
