/* SPDX-License-Identifier: MIT */
#include "cli/base/suggestion.h"

#include <stddef.h>
#include <string.h>

#define DISTANCE_MAX 2
#define WORD_MAX 63

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Insertions, removals, replacements and exchanges of neighbours that make one word the other. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb) {
    unsigned rows[3][WORD_MAX + 1];
    for (unsigned j = 0; j <= nb; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = least(row[j], second[j - 2] + 1);
            }
        }
    }
    return rows[na % 3][nb];
}

void suggestion_add(struct suggestion *s, const char *candidate) {
    size_t n = strlen(s->word), m = strlen(candidate);
    if (n > WORD_MAX || m > WORD_MAX) {
        return;
    }
    unsigned d = distance(s->word, n, candidate, m);
    /* A word of which nothing is left is no likeness. */
    if (d <= DISTANCE_MAX && d < n && (s->nearest == NULL || d < s->distance)) {
        s->nearest = candidate;
        s->distance = d;
    }
}
