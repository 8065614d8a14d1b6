/* SPDX-License-Identifier: MIT */
#include "collector/store/sums.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 1024
#define FIRST_TEXTS ((size_t)64 << 10)
#define SLOTS_PER_SUM 2

static const char *text_of(const struct sum_key *key, int i) {
    return key->texts[i] != NULL ? key->texts[i] : "";
}

/* FNV-1a. A sender that knows it gets no more than a longer search among the sums of one transaction. */
static uint64_t hash_of(const struct sum_key *key) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ key->table;
    for (int i = 0; i < SUM_TEXTS; i++) {
        for (const char *c = text_of(key, i); *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
        }
        hash = (hash ^ 0xff) * UINT64_C(0x100000001b3);
    }
    hash = (hash ^ (uint64_t)key->number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static bool is_key(const struct sums *s, const struct sum *sum, const struct sum_key *key, uint64_t hash) {
    bool is = sum->hash == hash && sum->table == key->table && sum->number == key->number;
    for (int i = 0; is && i < SUM_TEXTS; i++) {
        is = strcmp(s->texts + sum->texts_at[i], text_of(key, i)) == 0;
    }
    return is;
}

/* The slot of the key, or the free one where it would be. */
static size_t slot_of(const struct sums *s, const struct sum_key *key, uint64_t hash) {
    const size_t slots = s->size * SLOTS_PER_SUM;
    size_t at = hash & (slots - 1);
    while (s->slots[at] != 0 && !is_key(s, &s->all[s->slots[at] - 1], key, hash)) {
        at = (at + 1) & (slots - 1);
    }
    return at;
}

static bool grow(struct sums *s) {
    size_t size = s->size > 0 ? s->size * 2 : FIRST_SIZE;
    struct sum *all = realloc(s->all, size * sizeof *all);
    s->all = all != NULL ? all : s->all;
    uint32_t *slots = all != NULL ? calloc(size * SLOTS_PER_SUM, sizeof *slots) : NULL;
    if (slots == NULL) {
        return false;
    }
    free(s->slots);
    s->slots = slots;
    s->size = size;
    for (size_t i = 0; i < s->count; i++) {
        size_t at = s->all[i].hash & (size * SLOTS_PER_SUM - 1);
        while (slots[at] != 0) {
            at = (at + 1) & (size * SLOTS_PER_SUM - 1);
        }
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

static bool make_space(struct sums *s, const struct sum_key *key) {
    size_t needed = s->texts_used;
    for (int i = 0; i < SUM_TEXTS; i++) {
        needed += strlen(text_of(key, i)) + 1;
    }
    size_t size = s->texts_size > 0 ? s->texts_size : FIRST_TEXTS;
    while (size < needed) {
        size *= 2;
    }
    if (size != s->texts_size) {
        char *texts = realloc(s->texts, size);
        if (texts == NULL) {
            return false;
        }
        s->texts = texts;
        s->texts_size = size;
    }
    return s->count < s->size || grow(s);
}

static struct sum *find(const struct sums *s, const struct sum_key *key, uint64_t hash) {
    size_t at = s->count > 0 ? slot_of(s, key, hash) : 0;
    return s->count > 0 && s->slots[at] != 0 ? &s->all[s->slots[at] - 1] : NULL;
}

struct sum *sums_find(const struct sums *s, const struct sum_key *key) {
    return s->count > 0 ? find(s, key, hash_of(key)) : NULL;
}

struct sum *sums_at(struct sums *s, const struct sum_key *key) {
    const uint64_t hash = hash_of(key);
    struct sum *sum = find(s, key, hash);
    if (sum != NULL || !make_space(s, key)) {
        return sum;
    }
    size_t at = slot_of(s, key, hash);
    sum = &s->all[s->count++];
    *sum = (struct sum){.table = key->table,
                        .hash = hash,
                        .number = key->number,
                        .first_ms = INT64_MAX,
                        .last_ms = INT64_MIN};
    for (int i = 0; i < SUM_TEXTS; i++) {
        size_t size = strlen(text_of(key, i)) + 1;
        sum->texts_at[i] = s->texts_used;
        memcpy(s->texts + s->texts_used, text_of(key, i), size);
        s->texts_used += size;
    }
    s->slots[at] = (uint32_t)s->count;
    return sum;
}

void sum_add(struct sum *sum, int64_t count, int64_t ms, int64_t started_ms) {
    sum->count += count;
    sum->total_ms += ms;
    sum->first_ms = started_ms < sum->first_ms ? started_ms : sum->first_ms;
    sum->last_ms = started_ms > sum->last_ms ? started_ms : sum->last_ms;
}

struct sum_key sums_key(const struct sums *s, const struct sum *sum) {
    struct sum_key key = {.table = sum->table, .number = sum->number};
    for (int i = 0; i < SUM_TEXTS; i++) {
        key.texts[i] = s->texts + sum->texts_at[i];
    }
    return key;
}

void sums_clear(struct sums *s) {
    if (s->count > 0) {
        memset(s->slots, 0, s->size * SLOTS_PER_SUM * sizeof *s->slots);
    }
    s->count = s->texts_used = 0;
}

void sums_free(struct sums *s) {
    free(s->all);
    free(s->slots);
    free(s->texts);
    *s = (struct sums){0};
}
