/* SPDX-License-Identifier: MIT
 *
 * A circular buffer of the newest samples of a turn, one entry for each sample. Samples are numbered from
 * the turn's start: sample number `n` is at index n % HD_TIMELINE.
 */
#ifndef HD_TIMELINE_H
#define HD_TIMELINE_H

#include "report/report.h"

#define HD_TIMELINE 100u

struct hd_timeline {
    struct hd_timeline_entry entry[HD_TIMELINE];
    /* the number of samples since the turn's start, including those that newer samples have overwritten */
    uint32_t count;
};

static inline uint32_t hd_timeline_size(const struct hd_timeline *t) {
    return t->count < HD_TIMELINE ? t->count : HD_TIMELINE;
}

/* Returns the number of the oldest sample that is still in the buffer. */
static inline uint32_t hd_timeline_oldest(const struct hd_timeline *t) {
    return t->count - hd_timeline_size(t);
}

static inline struct hd_timeline_entry *hd_timeline_at(struct hd_timeline *t, uint32_t number) {
    return &t->entry[number % HD_TIMELINE];
}

#endif
