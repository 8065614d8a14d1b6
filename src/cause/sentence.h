/* SPDX-License-Identifier: MIT
 *
 * A cause as one sentence for a user. Pure functions on plain structs.
 */
#ifndef HD_SENTENCE_H
#define HD_SENTENCE_H

#include "base/text.h"
#include "cause/cause.h"

/* "waited for a mutex held by thread 9131", with the part of the hang's time where that is not all of it. A
 * sentence has no duration: the hang has one, and no part exceeds it. HD_CAUSE_KINDS: no sample knows. */
void hd_cause_say(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind);

/* "ran the toolkit's code in libpango-1.0 (90% of the time)" */
void hd_cause_say_drawing(struct hd_text *t, const struct hd_cause_sums *s);

/* The thread waits for another one, which waits for a reply of another process: on a condition variable, or
 * on nothing but an event descriptor. Or it waits itself, for a name server. */
bool hd_cause_waits_for_reply(const struct hd_probe *e);

#endif
