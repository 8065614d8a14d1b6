/* SPDX-License-Identifier: MIT
 *
 * Which group a report comes to, and all reports anew by the present rule. On the writing connection, within
 * its transaction; the caller has the lock `writing`.
 */
#ifndef COLLECTOR_STORE_SQLITE_GROUP_H
#define COLLECTOR_STORE_SQLITE_GROUP_H

#include "collector/store/sqlite_private.h"

/* Sets the row's fingerprint to that of its group: one that has the same bug's reports of other builds, else
 * its own. False: the store failed. */
bool sqlite_group_find(struct sqlite *s, struct row *row);

/* As store_regroup of store.h. */
long sqlite_regroup(void *file, const json_t *schema, long max);

#endif
