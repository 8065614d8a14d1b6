/* SPDX-License-Identifier: MIT
 *
 * Where the collector keeps reports, groups and keys: one SQLite file. One connection writes (the writer's
 * thread), one reads; each is used by one thread at a time.
 */
#ifndef COLLECTOR_STORE_H
#define COLLECTOR_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/error.h"
#include "collector/row.h"
#include "collector/sha256.h"

struct store;

/* Opens the file, or makes it, for its owner alone. `limit_mib`: of the file, 0: none. NULL, and why. */
struct store *store_open(const char *path, long limit_mib, struct problem *why);
void store_close(struct store *s);

enum store_result { STORE_DONE, STORE_FULL, STORE_FAILED };

/* Adds all rows in one transaction, and sets each outcome. When it returns STORE_DONE they are on disk. Else
 * none of them is stored. */
enum store_result store_add(struct store *s, struct row *const *rows, size_t count);

/* Why the last call of store_add failed. */
const char *store_error(const struct store *s);

/* ---- keys: the store has their hashes only ---- */
enum key_use { KEY_SEND, KEY_READ, KEY_ADMIN, KEY_USES };
struct store_key {
    int64_t id;
    enum key_use use;
    uint8_t hash[SHA256_BYTES];
};
#define STORE_KEYS_MAX 1000
/* The count, at most `max`; -1: they cannot be read. */
int store_keys(struct store *s, struct store_key *keys, int max);
bool store_add_key(struct store *s, enum key_use use, const uint8_t hash[SHA256_BYTES]);

/* ---- what pages show; NULL: it is not there, or the store failed. The caller calls json_decref ---- */
/* Groups, the most time first, with their days; versions; totals. `app`: "" for all. */
json_t *store_overview(struct store *s, const char *app, int days);
json_t *store_group(struct store *s, const char *fingerprint);
json_t *store_counts(struct store *s);
/* The JSON text of a report; the caller frees it. */
char *store_report(struct store *s, const char *id, size_t *bytes);
/* Calls `take` with the text of each of the newest `max` whole reports of a group. */
void store_each_report(struct store *s, const char *fingerprint, int max,
                       void (*take)(void *to, const char *text, size_t bytes), void *to);

#endif
