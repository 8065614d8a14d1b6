/* SPDX-License-Identifier: MIT
 *
 * Answers that a module gave before. The reports of one hang hold the same places, so a list of many reports
 * asks for each place many times. A table of fixed size: a place that is asked for later takes the slot.
 */
#ifndef SYMBOLIZER_ANSWERS_H
#define SYMBOLIZER_ANSWERS_H

#include "symbolizer/symbolizer.h"

#define ANSWERS_SLOTS 512

/* The place is an address in the module's file and the start of its function, which bounds a symbol without a
 * size. */
struct answer_place {
    uint64_t addr, start;
};

struct answers {
    struct answer *slot[ANSWERS_SLOTS];
};

/* Copies the kept answer into `out` and returns how many symbols it has; -1: none is kept. */
int answers_find(const struct answers *a, struct answer_place at, struct symbol *out);

/* Keeps an answer of n symbols, 0 included. Without memory it keeps nothing. */
void answers_keep(struct answers *a, struct answer_place at, const struct symbol *found, int n);
void answers_free(struct answers *a);

#endif
