/* SPDX-License-Identifier: MIT
 *
 * New keys, and the words for what they may do.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "collector/keys/keys.h"

#define RANDOM_BYTES 16

static const char *const uses[KEY_USES] = {"send", "read", "admin"};

int64_t keys_make(struct store *store, enum key_use use, const char *app, char text[KEY_TEXT_BYTES]) {
    uint8_t bytes[RANDOM_BYTES], hash[SHA256_BYTES];
    char hex[2 * RANDOM_BYTES + 1];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        return -1;
    }
    sha256_hex(bytes, sizeof bytes, hex);
    snprintf(text, KEY_TEXT_BYTES, "hd%c_%s", "sra"[use], hex);
    sha256(text, strlen(text), hash);
    return store_add_key(store, use, app, hash);
}

const char *keys_use_word(enum key_use use) {
    return uses[use];
}

bool keys_is_app(const char *app) {
    for (const char *p = app; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            return false;
        }
    }
    return strlen(app) < STORE_APP_BYTES;
}

bool keys_use_read(const char *text, enum key_use *use, char app[STORE_APP_BYTES]) {
    size_t word = strcspn(text, ":");
    app[0] = '\0';
    for (int i = 0; i < KEY_USES; i++) {
        if (strlen(uses[i]) != word || strncmp(uses[i], text, word) != 0) {
            continue;
        }
        *use = (enum key_use)i;
        if (text[word] == '\0') {
            return true;
        }
        snprintf(app, STORE_APP_BYTES, "%s", text + word + 1);
        return *use == KEY_SEND && app[0] != '\0' && keys_is_app(text + word + 1);
    }
    return false;
}
