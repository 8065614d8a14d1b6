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

/* As the functions of store.h that call them. */
int sqlite_keys(struct sqlite *s, struct store_key *keys, int max);
int64_t sqlite_add_key(struct sqlite *s, enum key_use use, const char *app, const uint8_t hash[SHA256_BYTES]);
bool sqlite_remove_key(struct sqlite *s, int64_t id);
bool sqlite_count_key(struct sqlite *s, int64_t id, int64_t used_ms, int64_t day, int64_t reports);
bool sqlite_setting_get(struct sqlite *s, const char *name, char value[STORE_SETTING_BYTES]);
bool sqlite_setting_set(struct sqlite *s, const char *name, const char *value);
bool sqlite_issue_get(struct sqlite *s, const char *fingerprint, struct store_issue *issue);
bool sqlite_issue_set(struct sqlite *s, const char *fingerprint, const struct store_issue *issue);

#endif
