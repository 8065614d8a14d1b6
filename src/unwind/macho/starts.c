/* SPDX-License-Identifier: MIT
 *
 * Finds the function that an address is in. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/macho/starts.h"

#define PART_BYTES_MIN 512u /* a smaller part of the list is not worth a mark */

void hd_starts_open(struct hd_starts *s, const struct hd_memory *memory,
                    const struct hd_macho_tables *tables) {
    struct hd_function_starts at;
    s->count = 0;
    hd_function_starts_init(&at, tables);
    if (tables->function_starts == 0 || at.at >= at.end) {
        return;
    }
    uint64_t part = (at.end - at.at) / HD_STARTS_MARKS + 1, next = at.at;
    part = part < PART_BYTES_MIN ? PART_BYTES_MIN : part;
    do {
        if (at.at >= next && s->count < HD_STARTS_MARKS) {
            s->mark[s->count++] = at;
            next = at.at + part;
        }
    } while (hd_function_starts_next(&at, memory));
}

bool hd_starts_find(const struct hd_starts *s, const struct hd_memory *memory, uint64_t pc, uint64_t *start,
                    uint64_t *stop) {
    uint32_t first = 0, n = s->count;
    if (n == 0 || pc < s->mark[0].start || pc >= s->mark[0].limit) {
        return false;
    }
    while (n > 1) {
        uint32_t half = n / 2;
        if (s->mark[first + half].start <= pc) {
            first += half;
            n -= half;
        } else {
            n = half;
        }
    }
    struct hd_function_starts at = s->mark[first];
    bool is_function = first > 0; /* the first mark is before all functions: it has the header */
    *start = at.start;
    *stop = at.limit;
    return hd_function_starts_find(&at, memory, pc, start, stop) || is_function;
}
