/* SPDX-License-Identifier: MIT */
#include "collector/store/choices.h"

#include <stdio.h>

void choices_add(struct choices *c, const char *of, const char *fingerprint, const char *frames,
                 int64_t count) {
    enum alike rank = alike(of, frames);
    if (rank > c->rank) {
        c->rank = rank;
        c->count = 0;
    }
    if (rank != ALIKE_NOT && rank == c->rank && c->count < CHOICES_MAX) {
        struct choice *one = &c->one[c->count++];
        snprintf(one->fingerprint, sizeof one->fingerprint, "%s", fingerprint);
        snprintf(one->frames, sizeof one->frames, "%s", frames);
        one->count = count;
    }
}

const struct choice *choices_best(const struct choices *c) {
    const struct choice *best = &c->one[0];
    for (size_t i = 1; i < c->count; i++) {
        best = c->one[i].count > best->count ? &c->one[i] : best;
    }
    for (size_t i = 0; i < c->count; i++) {
        if (!alike_is_nested(c->one[i].frames, best->frames)) {
            return NULL;
        }
    }
    return c->count > 0 ? best : NULL;
}
