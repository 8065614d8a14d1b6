/* SPDX-License-Identifier: MIT
 * The contributions of a transaction's reports to each sum, so that a store writes each sum only once. The
 * memory stays for the next transaction. One thread at a time.
 */
#ifndef COLLECTOR_STORE_SUMS_H
#define COLLECTOR_STORE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/report/grouping.h"

#define SUM_TEXTS 3

/* Which sum: a table, and the row in it. Texts that it does not need are NULL. */
struct sum_key {
    unsigned table;
    const char *texts[SUM_TEXTS];
    int64_t number;
};

/* Zeros at first, except for its two times. */
struct sum {
    int64_t count, total_ms, first_ms, last_ms;
    int64_t max_ms, users;            /* of a group */
    int64_t hang_free, runs, used_ms; /* of an app */
    char group[GROUPING_HEX + 1];     /* of a way */
    bool is_there, has_family;        /* of a group, a user */

    unsigned table; /* the rest is of sums.c */
    uint64_t hash;
    int64_t number;
    size_t texts_at[SUM_TEXTS];
};

struct sums {
    struct sum *all;
    uint32_t *slots; /* index + 1 in `all`; 0: free */
    char *texts;
    size_t count, size, texts_used, texts_size;
};

/* A store writes its sums, and clears them, when there are so many. */
#define SUMS_MAX 16384

/* The sum of this key, made where there is none. Valid until the next call. NULL: no memory. */
struct sum *sums_at(struct sums *s, const struct sum_key *key);
/* Adds `count` reports, or none, that started at this time. */
void sum_add(struct sum *sum, int64_t count, int64_t ms, int64_t started_ms);
/* NULL: there is none. */
struct sum *sums_find(const struct sums *s, const struct sum_key *key);
/* The key of a sum; its texts are valid until the next call of sums_at. */
struct sum_key sums_key(const struct sums *s, const struct sum *sum);
void sums_clear(struct sums *s);
void sums_free(struct sums *s);

#endif
