/* SPDX-License-Identifier: MIT
 *
 * The hangs of one run by function and cause: what each cost, and when a repeat deserves a line. Plain
 * values, for shared memory. One writer at a time.
 */
#ifndef CLI_HANG_TABLE_H
#define CLI_HANG_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define HANG_ROWS 64
#define HANG_FUNCTION_BYTES 128
#define HANG_FREQUENT 5 /* in a minute: from the next one on most repeats have no line */

struct hang_row {
    char function[HANG_FUNCTION_BYTES]; /* "lookup (lock.c:13)" */
    char cause[24], id[37];
    uint64_t count, total_ns, max_ns;
    uint64_t last_ns[HANG_FREQUENT]; /* when the last ones came */
};

struct hang_table {
    uint32_t rows;
    struct hang_row row[HANG_ROWS];
};

struct hang_seen {
    const char *function, *cause, *id;
    uint64_t duration_ns, now_ns;
};

/* Adds a hang. Its row, which has the id of the first one. Where all rows are used, it takes that of the
 * least cost. */
struct hang_row *hang_table_add(struct hang_table *t, const struct hang_seen *hang);
/* After that: whether this repeat has a line. From the 6th in a minute only the 10th, 20th, 50th, 100th ...
 * has.
 */
bool hang_row_is_due(const struct hang_row *r);
/* The indices of the worst rows, at most `max`, worst first. Returns how many. */
unsigned hang_table_worst(const struct hang_table *t, unsigned *index, unsigned max);

#endif
