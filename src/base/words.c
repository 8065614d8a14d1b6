/* SPDX-License-Identifier: MIT
 *
 * All words are one array of bytes, with a NUL behind each. In a table of pointers each word would cost the
 * watched process a relocation.
 */
#include "base/words.h"

#include <string.h>

/* The place of each word's first byte, and of the NUL behind the word, in `words`. */
enum byte {
#define BYTES(at, word) at, NUL_##at = (at) + (int)sizeof(word) - 1,
#define HD_WORD_REPORT(id, word, ...) BYTES(REPORT_##id, word)
#define HD_WORD_CAUSE(id, word, ...) BYTES(CAUSE_##id, word)
#define HD_WORD_LOCK(id, word, name) BYTES(LOCK_##id, word)
#define HD_WORD_PARTY(id, word) BYTES(PARTY_##id, word)
#define HD_WORD_RUN(id, word) BYTES(RUN_##id, word)
#define HD_WORD_STATE(id, word) BYTES(STATE_##id, word)
#define HD_WORD_ACTIVITY(id, word) BYTES(ACTIVITY_##id, word)
#define HD_WORD_SCHEME(id, word) BYTES(SCHEME_##id, word)
#define HD_WORD_WAY(id, word) BYTES(WAY_##id, word)
#define HD_WORD_STOP(id, word, ...) BYTES(STOP_##id, word)
#define HD_WORD_TRUST(id, word) BYTES(TRUST_##id, word)
#include "base/words.def"
#define HD_WORD_LOCK(id, word, name) BYTES(LOCK_NAME_##id, name)
#include "base/words.def"
    ALL_BYTES
};

static const char words[] =
#define HD_WORD_REPORT(id, word, ...) word "\0"
#define HD_WORD_CAUSE(id, word, ...) word "\0"
#define HD_WORD_LOCK(id, word, name) word "\0"
#define HD_WORD_PARTY(id, word) word "\0"
#define HD_WORD_RUN(id, word) word "\0"
#define HD_WORD_STATE(id, word) word "\0"
#define HD_WORD_ACTIVITY(id, word) word "\0"
#define HD_WORD_SCHEME(id, word) word "\0"
#define HD_WORD_WAY(id, word) word "\0"
#define HD_WORD_STOP(id, word, ...) word "\0"
#define HD_WORD_TRUST(id, word) word "\0"
#include "base/words.def"
#define HD_WORD_LOCK(id, word, name) name "\0"
#include "base/words.def"
    ;

_Static_assert(sizeof words == ALL_BYTES + 1, "the compiler adds a NUL behind the last word's");

/* The byte at which each set starts; a set ends where the next one starts. */
static const uint16_t first[] = {
    [HD_WORDS_REPORT] = REPORT_HANG,      [HD_WORDS_CAUSE] = CAUSE_CPU,
    [HD_WORDS_LOCK] = LOCK_UNKNOWN,       [HD_WORDS_PARTY] = PARTY_NONE,
    [HD_WORDS_RUN] = RUN_RUNNING,         [HD_WORDS_STATE] = STATE_LAUNCH,
    [HD_WORDS_ACTIVITY] = ACTIVITY_ENTRY, [HD_WORDS_SCHEME] = SCHEME_ACTIVITY,
    [HD_WORDS_WAY] = WAY_FROZEN,          [HD_WORDS_STOP] = STOP_ROOT,
    [HD_WORDS_TRUST] = TRUST_CONTEXT,     [HD_WORDS_LOCK_NAME] = LOCK_NAME_UNKNOWN,
    [HD_WORDS_SETS] = ALL_BYTES,
};

/* Steps over the words of one set only: a large report has a word for each of some 25,000 frames. */
const char *hd_words_at(enum hd_words set, unsigned value) {
    unsigned at = first[set], end = first[set + 1];
    for (; value > 0 && at < end; value--) {
        at += (unsigned)strlen(&words[at]) + 1;
    }
    return at < end && words[at] != '\0' ? &words[at] : NULL;
}
