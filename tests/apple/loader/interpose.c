/* SPDX-License-Identifier: MIT */
#include "interpose.h"

#include <err.h>

#define PAIRS 64

static struct {
    uint64_t replacement, function;
    const struct image *owner;
} pairs[PAIRS];
static int count;

void interpose_add(const struct image *image) {
    const uint64_t *at = (const uint64_t *)image->interpose;
    for (uint64_t i = 0; i < image->interpose_bytes / 16; i++) {
        if (count == PAIRS) {
            errx(2, "%s: more than %d interposed functions", image->path, PAIRS);
        }
        pairs[count].replacement = at[2 * i];
        pairs[count].function = at[2 * i + 1];
        pairs[count++].owner = image;
    }
}

uint64_t interpose_address(uint64_t address, const struct image *user) {
    for (int i = 0; i < count; i++) {
        if (pairs[i].function == address && pairs[i].owner != user) {
            return pairs[i].replacement;
        }
    }
    return address;
}
