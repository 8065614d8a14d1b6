/* SPDX-License-Identifier: MIT
 * The reports of a run that were printed. Plain values in shared memory: a second reporter continues where
 * the first one died. One writer at a time.
 */
#ifndef CLI_PRINTED_H
#define CLI_PRINTED_H

#include <stdbool.h>
#include <stdint.h>

#define PRINTED_MAX 1024 /* more than a spool keeps: an older report's file is gone */

struct printed_report {
    char id[37];
    const char *spool;           /* its folder: memory from before the first reporter's start */
    bool ended;                  /* its last line is printed */
    bool commanded;              /* --on-hang has it */
    uint8_t steps;               /* lines printed while the hang lasted */
    uint64_t due_ns;             /* when the next such line is due, 0: never */
    uint64_t lasted_ns, seen_ns; /* duration in the report, and the time of the read */
    uint64_t first_ns;           /* when it was read first */
};

struct printed {
    uint64_t count; /* ever added */
    struct printed_report report[PRINTED_MAX];
};

/* NULL: it was not added. */
struct printed_report *printed_find(struct printed *p, const char *id);
/* Finds it, or adds it in the place of the oldest. */
struct printed_report *printed_add(struct printed *p, const char *id);
/* How many are in `report`. */
unsigned printed_count(const struct printed *p);

#endif
