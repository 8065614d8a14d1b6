/* SPDX-License-Identifier: MIT
 *
 * The lines of src/base/words.def, by the word that a report has. A report may have a word of a later
 * version: then a function answers as its comment says. Pure.
 */
#ifndef CLI_REPORT_WORDS_H
#define CLI_REPORT_WORDS_H

#include <stdbool.h>

#include "base/words.h"

/* The words that an option takes, "a|b|c": each kind and each brief form, each cause. */
extern const char report_words_kinds[], report_words_causes[]; /* with a "|" before the first word */
#define REPORT_WORDS_KINDS (&report_words_kinds[1])
#define REPORT_WORDS_CAUSES (&report_words_causes[1])

/* The kind has this property. A kind that is unknown has none; NULL is unknown. */
bool report_words_kind_is(const char *kind, enum hd_report_flag flag);
/* "fatal" for fatal-hang: the form in a table's column. A kind that is unknown stays as it is. */
const char *report_words_brief(const char *kind);
/* The kind that a user typed, in whole or in brief. A kind that is unknown stays as it is. */
const char *report_words_kind_of(const char *typed);
/* "slow launch": the kind in a report's first line. A kind that is unknown stays as it is; NULL is a hang. */
const char *report_words_noun(const char *kind);
/* Why a walk ended, behind "stack ends here". NULL: the stack is whole, or the word is unknown. */
const char *report_words_stop(const char *stop);

#endif
