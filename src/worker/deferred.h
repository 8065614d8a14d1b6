/* SPDX-License-Identifier: MIT
 *
 * Reports that are written and not shown before their loop is sure: which they are, and what becomes of them.
 */
#ifndef HD_DEFERRED_H
#define HD_DEFERRED_H

#include "base/types.h"

#define HD_DEFERRED_MAX 64

struct hd_worker;
struct hd_turn;

struct hd_deferred {
    uint8_t id[HD_DEFERRED_MAX][HD_UUID_BYTES];
    uint8_t loop[HD_DEFERRED_MAX];
    uint32_t generation[HD_DEFERRED_MAX];
    uint64_t ns[HD_DEFERRED_MAX];
    uint32_t count;
};

void hd_deferred_add(struct hd_worker *k, const struct hd_turn *h);    /* there is room */
bool hd_deferred_remove(struct hd_worker *k, const struct hd_turn *h); /* true: it was held */

/* A report, held or not, is taken out of the spool. */
void hd_deferred_withdraw(struct hd_worker *k, const uint8_t *id);

/* Its loop is sure: what is held of it is shown from now on. */
void hd_deferred_publish(struct hd_worker *k, uint8_t loop, uint32_t generation);
/* Another wait is its loop's: what is held was none. */
void hd_deferred_void(struct hd_worker *k, uint8_t loop, uint32_t generation);
/* The process ends, and nobody is there to settle them for us. */
void hd_deferred_settle(struct hd_worker *k);

/* The record has how many reports the spool has dropped. */
void hd_deferred_count_dropped(struct hd_worker *k);

#endif
