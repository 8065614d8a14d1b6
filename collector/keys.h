/* SPDX-License-Identifier: MIT
 *
 * Who may send and who may read: keys, of which the store has the hashes, and how many reports a second each
 * may send. Any thread.
 */
#ifndef COLLECTOR_KEYS_H
#define COLLECTOR_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/store/store.h"

struct keys;

/* `rate`: reports a second from one key. NULL: the store cannot be read, or no memory. */
struct keys *keys_load(struct store *store, long rate);
void keys_free(struct keys *k);

/* Makes a key and stores its hash: "hds_..." sends, "hdr_..." reads, "hda_..." administers. False: no random
 * bytes, or no store. */
#define KEY_TEXT_BYTES 40
bool keys_make(struct store *store, enum key_use use, char text[KEY_TEXT_BYTES]);

/* The key's number for what `authorization` ("Bearer KEY") allows, -1: none. A key for administering
 * reads, too. It takes as long for a wrong key as for a right one. A key that was made meanwhile is found
 * too. */
int keys_check(struct keys *k, enum key_use use, const char *authorization);

/* Its number in the store. */
int64_t keys_id(struct keys *k, int key);

/* 0: this key may send; else the seconds until it may. Then keys_spend counts what it has sent. */
long keys_wait(struct keys *k, int key);
void keys_spend(struct keys *k, int key, size_t reports);

#endif
