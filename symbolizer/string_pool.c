/* SPDX-License-Identifier: MIT
 *
 * A set of strings, open addressing. Ordinary code.
 */
#include "symbolizer/string_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *s) {
    uint64_t h = 0xcbf29ce484222325;
    for (; *s != 0; s++) {
        h = (h ^ (uint8_t)*s) * 0x100000001b3;
    }
    return (size_t)(h ^ h >> 32);
}

/* Where s is, or the free slot where it belongs. */
static char **find(char **slot, size_t slots, const char *s) {
    size_t i = hash_of(s) & (slots - 1);
    while (slot[i] != NULL && strcmp(slot[i], s) != 0) {
        i = (i + 1) & (slots - 1);
    }
    return &slot[i];
}

static int grow(struct strings *set) {
    size_t slots = set->slots == 0 ? 256 : set->slots * 2;
    char **slot = calloc(slots, sizeof *slot);
    if (slot == NULL) {
        return -1;
    }
    for (size_t i = 0; i < set->slots; i++) {
        if (set->slot[i] != NULL) {
            *find(slot, slots, set->slot[i]) = set->slot[i];
        }
    }
    free(set->slot);
    set->slot = slot;
    set->slots = slots;
    return 0;
}

const char *strings_keep(struct strings *set, const char *s) {
    if (s == NULL || (set->used * 2 >= set->slots && grow(set) != 0)) {
        return NULL;
    }
    char **at = find(set->slot, set->slots, s);
    if (*at == NULL) {
        *at = strdup(s);
        set->used += *at != NULL;
    }
    return *at;
}

void strings_free(struct strings *set) {
    for (size_t i = 0; i < set->slots; i++) {
        free(set->slot[i]);
    }
    free(set->slot);
    memset(set, 0, sizeof *set);
}
