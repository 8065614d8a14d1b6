/* SPDX-License-Identifier: MIT */
#include "symbolizer/answers.h"

#include <stdlib.h>
#include <string.h>

struct answer {
    struct answer_place at;
    int n;
    struct symbol symbol[];
};

static size_t slot_of(struct answer_place at) {
    /* Fibonacci hashing: the upper bits of the product are well mixed (Knuth, TAOCP 3, 6.4) */
    return (size_t)((at.addr * 0x9E3779B97F4A7C15U) >> 32) % ANSWERS_SLOTS;
}

int answers_find(const struct answers *a, struct answer_place at, struct symbol *out) {
    const struct answer *kept = a->slot[slot_of(at)];
    if (kept == NULL || kept->at.addr != at.addr || kept->at.start != at.start) {
        return -1;
    }
    memcpy(out, kept->symbol, (size_t)kept->n * sizeof *out);
    return kept->n;
}

void answers_keep(struct answers *a, struct answer_place at, const struct symbol *found, int n) {
    size_t size = (size_t)n * sizeof *found;
    struct answer *new = malloc(sizeof *new + size);
    if (new == NULL) {
        return;
    }
    new->at = at;
    new->n = n;
    memcpy(new->symbol, found, size);
    struct answer **slot = &a->slot[slot_of(at)];
    free(*slot);
    *slot = new;
}

void answers_free(struct answers *a) {
    for (size_t i = 0; i < ANSWERS_SLOTS; i++) {
        free(a->slot[i]);
    }
    *a = (struct answers){{NULL}};
}
