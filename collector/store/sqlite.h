/* SPDX-License-Identifier: MIT
 *
 * A SQLite file with all tables: those of reports and groups, and those of keys and settings. One connection
 * writes, one reads; a lock for each lets one thread at a time to it.
 */
#ifndef COLLECTOR_STORE_SQLITE_H
#define COLLECTOR_STORE_SQLITE_H

#include "collector/store/store.h"

struct sqlite;

/* Opens the file or makes it, and brings its tables to the newest version. NULL, and why. */
struct sqlite *sqlite_open(const char *path, long limit_mib, struct problem *why);
void sqlite_close(void *file);

#endif
