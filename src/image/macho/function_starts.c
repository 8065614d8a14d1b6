/* SPDX-License-Identifier: MIT
 *
 * An entry is the distance from the function before, as a ULEB128. 0 ends the list, and pads it.
 */
#include "image/macho/function_starts.h"

#include <string.h>

#define PIECE 256u
#define LONGEST 10u /* bytes of an entry */

void hd_function_starts_init(struct hd_function_starts *s, const struct hd_macho_tables *t) {
    *s = (struct hd_function_starts){
        .at = t->function_starts,
        .end = t->function_starts + t->function_starts_bytes,
        .start = t->text,
        .limit = t->text + t->text_bytes,
    };
}

/* The number at `bytes`. Returns its length, 0: it is broken. */
static size_t uleb(const uint8_t *bytes, size_t n, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < n && i < LONGEST; i++) {
        uint64_t part = bytes[i] & 0x7f;
        if (i == LONGEST - 1 && part > 1) {
            return 0;
        }
        *value |= part << (7 * i);
        if ((bytes[i] & 0x80) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Steps over one entry among the bytes at s->at. False: the list ends. */
static bool step(struct hd_function_starts *s, const uint8_t *bytes, size_t n) {
    uint64_t distance;
    size_t length = uleb(bytes, n, &distance);
    if (length == 0 || distance == 0 || distance >= s->limit - s->start) {
        s->end = s->at;
        return false;
    }
    s->at += length;
    s->start += distance;
    return true;
}

/* Reads the bytes at the position, at most `n`: fewer where memory or the file ends before the table. */
static size_t read_piece(const struct hd_function_starts *s, const struct hd_memory *memory, uint8_t *piece,
                         size_t n) {
    n = s->end - s->at < n ? (size_t)(s->end - s->at) : n;
    while (n != 0 && !hd_memory_read(memory, s->at, piece, n)) {
        if (n > LONGEST) {
            n = n / 2 > LONGEST ? n / 2 : LONGEST;
        } else {
            n--;
        }
    }
    return n;
}

bool hd_function_starts_next(struct hd_function_starts *s, const struct hd_memory *memory) {
    uint8_t entry[LONGEST];
    return step(s, entry, read_piece(s, memory, entry, sizeof entry));
}

bool hd_function_starts_find(struct hd_function_starts *s, const struct hd_memory *memory, uint64_t pc,
                             uint64_t *start, uint64_t *end) {
    uint8_t piece[PIECE];
    struct hd_function_starts next = *s;
    bool found = false;
    *end = s->limit;
    for (;;) {
        uint64_t from = next.at;
        size_t n = read_piece(&next, memory, piece, sizeof piece);
        if (n == 0) {
            break;
        }
        /* An entry that the piece cuts off is read with the next piece. */
        size_t least = n < LONGEST ? n : LONGEST;
        least = next.at + n == next.end ? 1 : least;
        while (n - (next.at - from) >= least) {
            if (!step(&next, piece + (next.at - from), n - (next.at - from))) {
                return found;
            }
            if (next.start > pc) {
                *end = next.start;
                return found;
            }
            *s = next;
            *start = next.start;
            found = true;
        }
    }
    return found;
}
