/* SPDX-License-Identifier: MIT */
#include "cli/reader/report_words.h"

#include <stddef.h>
#include <string.h>

static const struct kind {
    const char *word, *noun;
    unsigned flags;
} kinds[] = {
#define HD_WORD_REPORT(id, word, noun, plural, flags, tab, sentence) {word, noun, flags},
#include "base/words.def"
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static const struct {
    enum hd_report_kind kind;
    const char *word;
} briefs[] = {
#define HD_WORD_BRIEF(id, word) {HD_REPORT_##id, word},
#include "base/words.def"
};
#define BRIEFS (sizeof briefs / sizeof briefs[0])

static const struct {
    const char *word, *sentence;
} stops[] = {
#define HD_WORD_STOP(id, word, sentence) {word, sentence},
#include "base/words.def"
};
#define STOPS (sizeof stops / sizeof stops[0])

const char report_words_kinds[] =
#define HD_WORD_REPORT(id, word, ...) "|" word
#define HD_WORD_BRIEF(id, word) "|" word
#include "base/words.def"
    ;

const char report_words_causes[] =
#define HD_WORD_CAUSE(id, word, ...) "|" word
#include "base/words.def"
    ;

/* NULL: unknown. */
static const struct kind *find(const char *word) {
    for (size_t i = 0; word != NULL && i < KINDS; i++) {
        if (strcmp(kinds[i].word, word) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

bool report_words_kind_is(const char *kind, enum hd_report_flag flag) {
    const struct kind *found = find(kind);
    return found != NULL && (found->flags & flag) != 0;
}

const char *report_words_brief(const char *kind) {
    for (size_t i = 0; kind != NULL && i < BRIEFS; i++) {
        if (strcmp(kinds[briefs[i].kind].word, kind) == 0) {
            return briefs[i].word;
        }
    }
    return kind;
}

const char *report_words_kind_of(const char *typed) {
    for (size_t i = 0; typed != NULL && i < BRIEFS; i++) {
        if (strcmp(briefs[i].word, typed) == 0) {
            return kinds[briefs[i].kind].word;
        }
    }
    return typed;
}

const char *report_words_noun(const char *kind) {
    const struct kind *found = find(kind);
    return found != NULL ? found->noun : kind != NULL ? kind : kinds[HD_REPORT_HANG].noun;
}

const char *report_words_stop(const char *stop) {
    for (size_t i = 0; stop != NULL && i < STOPS; i++) {
        if (strcmp(stops[i].word, stop) == 0) {
            return stops[i].sentence[0] != '\0' ? stops[i].sentence : NULL;
        }
    }
    return NULL;
}
