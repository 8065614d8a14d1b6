/* SPDX-License-Identifier: MIT
 * A cache of a module's answers. Reports of one hang have the same places, so a list of many reports looks up
 * each place many times. The table has a fixed size: a new place replaces the old one of its slot. One
 * thread.
 */
#ifndef SYMBOLIZER_ANSWERS_H
#define SYMBOLIZER_ANSWERS_H

#include "symbolizer/symbolizer.h"

#define ANSWERS_SLOTS 512

/* An address in the module's file, and the start of the function there. The start bounds a symbol that has no
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
