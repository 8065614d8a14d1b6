/* SPDX-License-Identifier: MIT */
#include "collector/report/kind.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"

static const struct {
    const char *word;
    unsigned flags, tab;
} kinds[] = {
#define HD_WORD_REPORT(id, word, noun, plural, flags, tab, sentence) {word, flags, tab},
#define HD_WORD_FOREIGN(id, word, plural, flags, tab, sentence) {word, flags, tab},
#include "base/words.def"
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static size_t find(const char *kind) {
    size_t i = 0;
    while (i < KINDS && strcmp(kinds[i].word, kind) != 0) {
        i++;
    }
    return i;
}

bool kind_is_hang(const char *kind) {
    size_t i = find(kind);
    return i < KINDS && (kinds[i].flags & HD_OF_RATE) != 0;
}

bool kind_is_listed(const char *kind) {
    size_t i = find(kind);
    return i < KINDS && kinds[i].tab != 0;
}

bool kind_has_own_groups(const char *kind) {
    size_t i = find(kind);
    return i < KINDS && (kinds[i].flags & HD_OF_OWN_GROUP) != 0;
}

/* The listed kind at a place; NULL: there are no more. */
static const char *listed_at(unsigned tab) {
    for (size_t i = 0; i < KINDS; i++) {
        if (kinds[i].tab == tab) {
            return kinds[i].word;
        }
    }
    return NULL;
}

void kind_write_listed(char *text, size_t size) {
    size_t used = 0;
    const char *word;
    for (unsigned tab = 1; (word = listed_at(tab)) != NULL && used < size; tab++) {
        const char *before = tab == 1 ? "" : listed_at(tab + 1) == NULL ? " or " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s%s", before, word);
    }
}

const char *const kind_foreign[] = {
#define HD_WORD_FOREIGN(id, word, ...) word,
#include "base/words.def"
    NULL};
