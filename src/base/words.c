/* SPDX-License-Identifier: MIT
 *
 * All words are one array of bytes, with a NUL behind each. In a table of pointers each word would cost the
 * watched process a relocation.
 */
#include "base/words.h"

#include <string.h>

/* The place of each word among all. */
enum place {
#define HD_WORD_REPORT(id, ...) REPORT_##id,
#define HD_WORD_CAUSE(id, ...) CAUSE_##id,
#define HD_WORD_LOCK(id, ...) LOCK_##id,
#define HD_WORD_RUN(id, ...) RUN_##id,
#define HD_WORD_STATE(id, ...) STATE_##id,
#define HD_WORD_ACTIVITY(id, ...) ACTIVITY_##id,
#define HD_WORD_SCHEME(id, ...) SCHEME_##id,
#define HD_WORD_WAY(id, ...) WAY_##id,
#define HD_WORD_STOP(id, ...) STOP_##id,
#define HD_WORD_TRUST(id, ...) TRUST_##id,
#include "base/words.def"
#define HD_WORD_LOCK(id, ...) LOCK_NAME_##id,
#include "base/words.def"
    PLACES
};

static const char words[] =
#define HD_WORD_REPORT(id, word, ...) word "\0"
#define HD_WORD_CAUSE(id, word, ...) word "\0"
#define HD_WORD_LOCK(id, word, name) word "\0"
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

/* The place of a set's value 0; a set ends where the next one starts. */
static const uint8_t first[] = {
    [HD_WORDS_REPORT] = REPORT_HANG - HD_REPORT_HANG,
    [HD_WORDS_CAUSE] = CAUSE_CPU - HD_CAUSE_CPU,
    [HD_WORDS_LOCK] = LOCK_UNKNOWN - HD_LOCK_UNKNOWN,
    [HD_WORDS_RUN] = RUN_RUNNING - HD_RUN_RUNNING,
    [HD_WORDS_STATE] = STATE_LAUNCH - 0,
    [HD_WORDS_ACTIVITY] = ACTIVITY_ENTRY - 0,
    [HD_WORDS_SCHEME] = SCHEME_ACTIVITY - HD_SCHEME_ACTIVITY,
    [HD_WORDS_WAY] = WAY_FROZEN - HD_WAY_FROZEN,
    [HD_WORDS_STOP] = STOP_ROOT - HD_STOP_ROOT,
    [HD_WORDS_TRUST] = TRUST_CONTEXT - HD_TRUST_CONTEXT,
    [HD_WORDS_LOCK_NAME] = LOCK_NAME_UNKNOWN - HD_LOCK_UNKNOWN,
    [HD_WORDS_SETS] = PLACES,
};

const char *hd_words_at(enum hd_words set, unsigned value) {
    const char *word = words;
    if (value >= (unsigned)(first[set + 1] - first[set])) {
        return NULL;
    }
    for (value += first[set]; value > 0; value--) {
        word += strlen(word) + 1;
    }
    return word[0] != '\0' ? word : NULL;
}
