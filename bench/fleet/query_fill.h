/* SPDX-License-Identifier: MIT
 *
 * Fills a store with the rows that the writer would have made of a load, in bulk: sums are added up in
 * memory, and indexes are built at the end. One thread.
 */
#ifndef BENCH_QUERY_FILL_H
#define BENCH_QUERY_FILL_H

#include <stdint.h>

#include "collector/store/store.h"
#include "fleet/query_load.h"

/* `path`: a SQLite file that store_open made. 0, else it said why. */
int query_fill(const char *path, struct query_load *load, uint64_t reports);

/* The same through the store's own interface. */
int query_fill_by_adding(struct store *store, struct query_load *load, uint64_t reports);

#endif
