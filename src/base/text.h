/* SPDX-License-Identifier: MIT
 *
 * Formats text into a caller's buffer as snprintf does, without stdio. The text always ends with a NUL; it is
 * truncated at the buffer's end. Async-signal-safe.
 */
#ifndef HD_TEXT_H
#define HD_TEXT_H

#include "base/types.h"

struct hd_text {
    char *buf;
    size_t size; /* of buf, the NUL included; at least 1 */
    size_t used; /* without the NUL */
};

void hd_text_init(struct hd_text *t, char *buf, size_t size);
void hd_text_str(struct hd_text *t, const char *s);
/* Writes the last part of a path. A truncated one ends with "...", behind a whole character. */
void hd_text_base_name(char *out, size_t size, const char *path);
void hd_text_mem(struct hd_text *t, const char *s, size_t n);
void hd_text_u64(struct hd_text *t, uint64_t v);
void hd_text_i64(struct hd_text *t, int64_t v);
void hd_text_padded(struct hd_text *t, uint64_t v, unsigned digits); /* with leading zeros */
void hd_text_hex(struct hd_text *t, uint64_t v);                     /* 0x… */
void hd_text_hex_bytes(struct hd_text *t, const uint8_t *bytes, size_t n);
/* Writes v rounded, with up to 9 decimals. NaN and numbers that are too large become 0. */
void hd_text_fixed(struct hd_text *t, double v, unsigned decimals);
/* RFC 3339, UTC, nanoseconds: "2026-01-31T12:00:00.000000001Z". */
void hd_text_time(struct hd_text *t, uint64_t wall_ns);

/* Skips blanks, and reads a decimal number; it is 0 if no digit follows. Returns the end of the number. */
const char *hd_text_take_number(const char *p, uint64_t *out);

/* Returns the length of the start of `s` that has none of the characters of `stops`, as strcspn does. */
size_t hd_text_until(const char *s, const char *stops);

#endif
