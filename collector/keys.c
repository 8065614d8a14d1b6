/* SPDX-License-Identifier: MIT */
#include "collector/keys.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "collector/monotonic.h"

#define RANDOM_BYTES 16
#define LOAD_AGAIN_NS INT64_C(1000000000)

struct bucket {
    double reports; /* that may come now; less than 0 after a large batch */
    int64_t at_ns;
};

struct keys {
    pthread_mutex_t lock;
    struct store *store;
    double rate;
    int count;
    int64_t loaded_ns;
    struct store_key key[STORE_KEYS_MAX];
    struct bucket bucket[STORE_KEYS_MAX];
};

static bool load(struct keys *k) {
    int count = store_keys(k->store, k->key, STORE_KEYS_MAX);
    if (count < 0) {
        return false;
    }
    k->loaded_ns = monotonic_ns();
    for (int i = k->count; i < count; i++) { /* the store gives them in the order of their making */
        k->bucket[i] = (struct bucket){.reports = k->rate, .at_ns = k->loaded_ns};
    }
    k->count = count;
    return true;
}

struct keys *keys_load(struct store *store, long rate) {
    struct keys *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return NULL;
    }
    pthread_mutex_init(&k->lock, NULL);
    k->store = store;
    k->rate = (double)rate;
    if (!load(k)) {
        free(k);
        return NULL;
    }
    return k;
}

void keys_free(struct keys *k) {
    free(k);
}

bool keys_make(struct store *store, enum key_use use, char text[KEY_TEXT_BYTES]) {
    uint8_t bytes[RANDOM_BYTES], hash[SHA256_BYTES];
    char hex[2 * RANDOM_BYTES + 1];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        return false;
    }
    sha256_hex(bytes, sizeof bytes, hex);
    snprintf(text, KEY_TEXT_BYTES, "hd%c_%s", "sra"[use], hex);
    sha256(text, strlen(text), hash);
    return store_add_key(store, use, hash);
}

/* Reads every byte, whatever the first ones are. */
static bool is_equal(const uint8_t *a, const uint8_t *b) {
    volatile uint8_t other = 0;
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        other = (uint8_t)(other | (a[i] ^ b[i]));
    }
    return other == 0;
}

/* Who may administer may read. */
static int find(const struct keys *k, enum key_use use, const uint8_t *hash) {
    int found = -1;
    for (int i = 0; i < k->count; i++) {
        bool same = is_equal(k->key[i].hash, hash);
        bool allows = k->key[i].use == use || (k->key[i].use == KEY_ADMIN && use == KEY_READ);
        found = same && allows ? i : found;
    }
    return found;
}

int keys_check(struct keys *k, enum key_use use, const char *authorization) {
    static const char scheme[] = "Bearer ";
    uint8_t hash[SHA256_BYTES];
    if (authorization == NULL || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) {
        return -1;
    }
    authorization += sizeof scheme - 1;
    sha256(authorization, strlen(authorization), hash);
    pthread_mutex_lock(&k->lock);
    int found = find(k, use, hash);
    if (found < 0 && monotonic_ns() - k->loaded_ns > LOAD_AGAIN_NS && load(k)) {
        found = find(k, use, hash);
    }
    pthread_mutex_unlock(&k->lock);
    return found;
}

int64_t keys_id(struct keys *k, int key) {
    pthread_mutex_lock(&k->lock);
    int64_t id = k->key[key].id;
    pthread_mutex_unlock(&k->lock);
    return id;
}

long keys_wait(struct keys *k, int key) {
    pthread_mutex_lock(&k->lock);
    struct bucket *b = &k->bucket[key];
    int64_t now = monotonic_ns();
    b->reports += (double)(now - b->at_ns) * 1e-9 * k->rate;
    b->reports = b->reports < 2 * k->rate ? b->reports : 2 * k->rate;
    b->at_ns = now;
    long seconds = b->reports > 0 ? 0 : 1 + (long)(-b->reports / k->rate);
    pthread_mutex_unlock(&k->lock);
    return seconds;
}

void keys_spend(struct keys *k, int key, size_t reports) {
    pthread_mutex_lock(&k->lock);
    k->bucket[key].reports -= (double)reports;
    pthread_mutex_unlock(&k->lock);
}
