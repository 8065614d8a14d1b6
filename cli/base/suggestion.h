/* SPDX-License-Identifier: MIT
 *
 * "Did you mean": the candidate that is at most two typing errors away from a word. Pure.
 */
#ifndef CLI_SUGGESTION_H
#define CLI_SUGGESTION_H

/* The caller sets only `word` at first, and keeps the candidates valid. */
struct suggestion {
    const char *word;
    const char *nearest; /* NULL: no candidate is near */
    unsigned distance;
};

void suggestion_add(struct suggestion *s, const char *candidate);

#endif
