/* SPDX-License-Identifier: MIT
 *
 * On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/eh_index.h"

#include <errno.h>
#include <string.h>

#define PART_BYTES_MIN 1024u

/* Joins parts in pairs, when there is no more room. */
static void join(struct hd_eh_index *x) {
    for (uint32_t i = 0; i < HD_EH_PARTS / 2; i++) {
        const struct hd_eh_part *a = &x->part[2 * i], *b = a + 1;
        x->part[i] = (struct hd_eh_part){.at = a->at,
                                         .low = a->low < b->low ? a->low : b->low,
                                         .high = a->high > b->high ? a->high : b->high};
    }
    x->count = HD_EH_PARTS / 2;
}

static void build(struct hd_eh_index *x, const struct hd_memory *memory, const struct hd_eh_table *t) {
    struct hd_fde fde;
    uint64_t at = t->frames, bytes = PART_BYTES_MIN;
    struct hd_eh_part *last = NULL;
    memset(&fde, 0, sizeof fde);
    x->frames = x->end = t->frames;
    x->count = 0;
    for (unsigned i = 0; i < HD_EH_SCAN_MAX && hd_eh_frame_next(memory, &at, t->limit, &fde) == 0; i++) {
        if (last == NULL || x->end - last->at >= bytes) {
            if (x->count == HD_EH_PARTS) {
                join(x);
                bytes *= 2;
            }
            last = &x->part[x->count++];
            *last = (struct hd_eh_part){.at = x->end, .low = UINT64_MAX};
        }
        x->end = at;
        if (fde.start != 0) {
            last->low = fde.start < last->low ? fde.start : last->low;
            last->high = fde.stop > last->high ? fde.stop : last->high;
        }
    }
}

int hd_eh_index_find(struct hd_eh_index *x, const struct hd_memory *memory, const struct hd_eh_table *t,
                     uint64_t pc, struct hd_fde *out) {
    struct hd_fde fde;
    if (t->frames == 0) {
        return -ENOENT;
    }
    if (x->frames != t->frames) {
        build(x, memory, t);
    }
    memset(&fde, 0, sizeof fde);
    for (uint32_t i = 0; i < x->count; i++) {
        uint64_t end = i + 1 < x->count ? x->part[i + 1].at : x->end;
        bool may = pc >= x->part[i].low && pc < x->part[i].high;
        for (uint64_t at = x->part[i].at; may && at < end;) {
            if (hd_eh_frame_next(memory, &at, t->limit, &fde) != 0) {
                break;
            }
            if (pc >= fde.start && pc < fde.stop && fde.start != 0) {
                *out = fde;
                return 0;
            }
        }
    }
    return -ENOENT;
}
