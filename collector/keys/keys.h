/* SPDX-License-Identifier: MIT
 * Keys that allow clients to send, read or administer, and the number of reports that each key may send. The
 * store has only hashes of keys. A key belongs in a header, never in an address or a log. Any thread.
 */
#ifndef COLLECTOR_KEYS_H
#define COLLECTOR_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/store/store.h"

struct keys;

/* Of each key for sending; 0: no limit. They are settings of the store. */
struct key_limits {
    long reports_per_minute, reports_per_day, report_bytes, group_reports_per_minute;
};

/* Starts the thread that reads keys and limits again, each second, and stores what was counted. `rate`:
 * reports a second from one key, in place of the setting; 0: the setting. NULL: the store cannot be read, or
 * no memory. */
struct keys *keys_start(struct store *store, long rate);
/* After the last request. */
void keys_stop(struct keys *k);

/* Makes a key and stores its hash. A key for sending begins with "hds_", one for reading with "hdr_", one for
 * administering with "hda_". A key for sending sends reports of `app` only; empty: of any app. Its number;
 * -1: no random bytes, or no store. */
#define KEY_TEXT_BYTES 40
int64_t keys_make(struct store *store, enum key_use use, const char *app, char text[KEY_TEXT_BYTES]);
/* "send", "read", "admin". */
const char *keys_use_word(enum key_use use);
/* Parses "send", "send:APP", "read" or "admin". False: another text. */
bool keys_use_read(const char *text, enum key_use *use, char app[STORE_APP_BYTES]);
/* A name that reports may have: no control characters, not too long. */
bool keys_is_app(const char *app);

/* The key's place for what `authorization` ("Bearer KEY") allows, -1: none. A key for administering reads,
 * too. It takes as long for a wrong key as for a right one. A key that was made or removed by another process
 * is noticed within a second. */
int keys_check(struct keys *k, enum key_use use, const char *authorization);
/* Reads them from the store at once. */
bool keys_renew(struct keys *k);

int64_t keys_id(struct keys *k, int key); /* its number in the store */
enum key_use keys_use(struct keys *k, int key);
void keys_app(struct keys *k, int key, char app[STORE_APP_BYTES]);
/* When the key of this number was last used by this collector and the store does not have it yet; 0: it was
 * not. */
int64_t keys_used_ms(struct keys *k, int64_t id);
/* Reports a second from one key that stand in place of the setting; 0: none do. */
long keys_rate(const struct keys *k);
void keys_limits(struct keys *k, struct key_limits *out);

/* 0: this key may send; else the seconds until it may. Then keys_spend counts what it has sent, and the CPU
 * time that these reports took: costly ones count as many. */
long keys_wait(struct keys *k, int key);
void keys_spend(struct keys *k, int key, size_t reports, int64_t cpu_ns);

/* Equal in all bytes. It reads each, whatever the first ones are. */
bool keys_are_equal(const uint8_t *a, const uint8_t *b, size_t bytes);

#endif
