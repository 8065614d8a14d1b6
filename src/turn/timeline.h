/* SPDX-License-Identifier: MIT
 *
 * The newest samples of a turn, one entry each. A ring: entry number `n`, counted from the turn's start, is
 * at index n % HD_TIMELINE.
 */
#ifndef HD_TIMELINE_H
#define HD_TIMELINE_H

#include "report/report.h"

#define HD_TIMELINE 100u

struct hd_timeline {
    struct hd_timeline_entry entry[HD_TIMELINE];
    uint32_t count; /* entries since the turn's start, also those that newer ones have replaced */
};

static inline uint32_t hd_timeline_size(const struct hd_timeline *t) {
    return t->count < HD_TIMELINE ? t->count : HD_TIMELINE;
}

/* The number of the oldest entry. */
static inline uint32_t hd_timeline_oldest(const struct hd_timeline *t) {
    return t->count - hd_timeline_size(t);
}

static inline struct hd_timeline_entry *hd_timeline_at(struct hd_timeline *t, uint32_t number) {
    return &t->entry[number % HD_TIMELINE];
}

#endif
