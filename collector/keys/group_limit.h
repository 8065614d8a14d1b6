/* SPDX-License-Identifier: MIT
 * Limits the reports of one bug that a key may send. A bug that hangs a whole fleet is known after some
 * hundred reports, and must not fill the store. Any thread.
 */
#ifndef COLLECTOR_GROUP_LIMIT_H
#define COLLECTOR_GROUP_LIMIT_H

#include <stdint.h>

struct group_limit;

struct group_limit *group_limit_new(void); /* NULL: no memory */
void group_limit_free(struct group_limit *g);

/* Counts one report. 0: it may come; else the seconds until one may. It remembers some thousand groups, the
 * busiest of those that share a place. */
long group_limit_take(struct group_limit *g, int key, const char *fingerprint, long per_minute,
                      int64_t now_ns);

#endif
