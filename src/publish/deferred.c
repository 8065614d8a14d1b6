/* SPDX-License-Identifier: MIT
 *
 * Keeps the deferred reports in the order in which they were added. On the worker thread.
 */
#include "publish/deferred.h"

#include <string.h>

void hd_deferred_add(struct hd_deferred *d, const uint8_t *id, uint8_t slot, uint32_t generation,
                     uint64_t duration_ns) {
    uint32_t at = d->count++;
    memcpy(d->id[at], id, HD_UUID_BYTES);
    d->slot[at] = slot;
    d->generation[at] = generation;
    d->duration_ns[at] = duration_ns;
}

void hd_deferred_remove_at(struct hd_deferred *d, uint32_t at) {
    for (d->count--; at < d->count; at++) {
        memcpy(d->id[at], d->id[at + 1], HD_UUID_BYTES);
        d->slot[at] = d->slot[at + 1];
        d->generation[at] = d->generation[at + 1];
        d->duration_ns[at] = d->duration_ns[at + 1];
    }
}

bool hd_deferred_remove(struct hd_deferred *d, const uint8_t *id) {
    for (uint32_t i = 0; i < d->count; i++) {
        if (memcmp(d->id[i], id, HD_UUID_BYTES) == 0) {
            hd_deferred_remove_at(d, i);
            return true;
        }
    }
    return false;
}

uint32_t hd_deferred_find(const struct hd_deferred *d, uint32_t at, uint8_t slot, uint32_t generation) {
    while (at < d->count && (d->slot[at] != slot || d->generation[at] != generation)) {
        at++;
    }
    return at;
}
