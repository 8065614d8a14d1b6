/* SPDX-License-Identifier: MIT
 *
 * Reports and groups in ClickHouse, over HTTP: on one server, or on the shards of a cluster.
 */
#ifndef COLLECTOR_STORE_CLICKHOUSE_H
#define COLLECTOR_STORE_CLICKHOUSE_H

#include "collector/store/store_backend.h"

/* clickhouse://HOST:PORT[,HOST:PORT...]/DATABASE[?cluster=NAME]: a host of each shard, by its port of HTTP.
 * It makes the tables that are missing. NULL, and why: no host can be reached, or the URL is wrong. */
void *clickhouse_open(const char *url, struct problem *why);

extern const struct store_backend clickhouse_backend;

#endif
