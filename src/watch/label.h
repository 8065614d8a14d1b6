/* SPDX-License-Identifier: MIT
 *
 * The label of a loop: what the loop works on, as the program says. The loop's thread sets it, and the worker
 * reads it at each sample. A sequence number protects the text, so that neither side ever waits. Nothing here
 * allocates memory, locks or makes a system call.
 */
#ifndef HD_LABEL_H
#define HD_LABEL_H

#include <stdatomic.h>

#include "base/types.h"

#define HD_LABEL_BYTES 128      /* with the NUL */
#define HD_TRACEPARENT_BYTES 56 /* the W3C form has 55 characters */

struct hd_label_text {
    char label[HD_LABEL_BYTES]; /* "": there is none */
    char traceparent[HD_TRACEPARENT_BYTES];
};
#define HD_LABEL_WORDS (sizeof(struct hd_label_text) / sizeof(uint64_t))
_Static_assert(sizeof(struct hd_label_text) % sizeof(uint64_t) == 0, "the text is copied word by word");

struct hd_label {
    _Atomic uint32_t sequence; /* odd: the thread changes the text; 0: the program never set a label */
    _Atomic uint64_t ticks;    /* when the label was set, by the loop's counter */
    _Atomic uint64_t word[HD_LABEL_WORDS];
};

/* Stores a copy of the texts; NULL: none. The function cuts a longer label at a whole UTF-8 character,
 * and leaves out a longer traceparent. Only the loop's thread may call it. A call in a signal handler that
 * interrupts this function on the same thread does nothing. Async-signal-safe and wait-free. */
void hd_label_set(struct hd_label *l, uint64_t ticks, const char *label, const char *traceparent);

/* Copies the texts, and the time when they were set. Returns false if the program never set a label, or sets
 * it at this moment. Any thread. */
bool hd_label_read(const struct hd_label *l, uint64_t *ticks, struct hd_label_text *out);

/* Makes the texts safe for a report: control characters become '?', and a traceparent that has not the W3C
 * form becomes empty. */
void hd_label_clean(struct hd_label_text *text);

#endif
