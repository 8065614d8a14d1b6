/* SPDX-License-Identifier: MIT
 *
 * The words of reports as enumerations, and the word of each enumerator. words.def has the lines. Pure.
 */
#ifndef HD_WORDS_H
#define HD_WORDS_H

#include <stdint.h>

enum hd_report_kind {
#define HD_WORD_REPORT(id, ...) HD_REPORT_##id,
#include "base/words.def"
};

/* Properties of a kind of report, as bits. */
enum hd_report_flag {
    HD_OF_HANG = 1,       /* a loop hung */
    HD_OF_TURN = 2,       /* a turn of a loop hung, or was a long frame */
    HD_OF_RATE = 4,       /* the collector adds its duration to the time hung */
    HD_OF_END = 8,        /* the process ended */
    HD_OF_OWN_GROUP = 16, /* the collector groups it with no other kind */
    HD_OF_WARNING = 32,   /* a log has it as a warning, not as an error */
    HD_OF_REQUEST = 64,   /* a user requested it: a log has it as information */
};

enum hd_cause_kind {
#define HD_WORD_CAUSE(id, ...) HD_CAUSE_##id,
#include "base/words.def"
    HD_CAUSE_KINDS,
};

enum hd_lock_kind {
#define HD_WORD_LOCK(id, ...) HD_LOCK_##id,
#include "base/words.def"
    HD_LOCK_KINDS,
};

enum hd_party_role {
#define HD_WORD_PARTY(id, ...) HD_PARTY_##id,
#include "base/words.def"
};

enum hd_run_state {
#define HD_WORD_RUN(id, ...) HD_RUN_##id,
#include "base/words.def"
};

enum hd_scheme {
#define HD_WORD_SCHEME(id, ...) HD_SCHEME_##id,
#include "base/words.def"
};

enum hd_way {
#define HD_WORD_WAY(id, ...) HD_WAY_##id,
#include "base/words.def"
};

enum hd_stop {
#define HD_WORD_STOP(id, ...) HD_STOP_##id,
#include "base/words.def"
};

enum hd_trust {
#define HD_WORD_TRUST(id, ...) HD_TRUST_##id,
#include "base/words.def"
};

/* Sets of words, in the order of words.def, and last the names of locks. */
enum hd_words {
    HD_WORDS_REPORT,    /* enum hd_report_kind */
    HD_WORDS_CAUSE,     /* enum hd_cause_kind */
    HD_WORDS_LOCK,      /* enum hd_lock_kind */
    HD_WORDS_PARTY,     /* enum hd_party_role */
    HD_WORDS_RUN,       /* enum hd_run_state */
    HD_WORDS_STATE,     /* hangdog_state of hangdog.h */
    HD_WORDS_ACTIVITY,  /* hangdog_activity of hangdog.h */
    HD_WORDS_SCHEME,    /* enum hd_scheme */
    HD_WORDS_WAY,       /* enum hd_way */
    HD_WORDS_STOP,      /* enum hd_stop */
    HD_WORDS_TRUST,     /* enum hd_trust */
    HD_WORDS_LOCK_NAME, /* enum hd_lock_kind; "a semaphore", for a sentence */
    HD_WORDS_SETS
};

/* The word of a value, as JSON has it. NULL: the set has no such value, or the value has no word. */
const char *hd_words_at(enum hd_words set, unsigned value);

static inline const char *hd_words_report(unsigned kind) {
    return hd_words_at(HD_WORDS_REPORT, kind);
}

static inline const char *hd_words_cause(unsigned kind) {
    return hd_words_at(HD_WORDS_CAUSE, kind);
}

static inline const char *hd_words_lock(unsigned kind) {
    return hd_words_at(HD_WORDS_LOCK, kind);
}

static inline const char *hd_words_party(unsigned role) {
    return hd_words_at(HD_WORDS_PARTY, role);
}

static inline const char *hd_words_run(unsigned state) {
    return hd_words_at(HD_WORDS_RUN, state);
}

static inline const char *hd_words_state(unsigned state) {
    return hd_words_at(HD_WORDS_STATE, state);
}

static inline const char *hd_words_activity(unsigned mark) {
    return hd_words_at(HD_WORDS_ACTIVITY, mark);
}

static inline const char *hd_words_scheme(unsigned scheme) {
    return hd_words_at(HD_WORDS_SCHEME, scheme);
}

static inline const char *hd_words_way(unsigned way) {
    return hd_words_at(HD_WORDS_WAY, way);
}

static inline const char *hd_words_stop(unsigned stop) {
    return hd_words_at(HD_WORDS_STOP, stop);
}

static inline const char *hd_words_trust(unsigned trust) {
    return hd_words_at(HD_WORDS_TRUST, trust);
}

static inline const char *hd_words_lock_name(unsigned kind) {
    return hd_words_at(HD_WORDS_LOCK_NAME, kind);
}

#endif
