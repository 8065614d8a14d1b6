/* SPDX-License-Identifier: MIT
 *
 * Sums over programs with the same app, unit, container and user. They never fall: what a process adds stays
 * after its end. Ordinary code.
 */
#ifndef AGENT_TOTALS_H
#define AGENT_TOTALS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/types.h"
#include "record/record.h"

struct total_key {
    char app[HD_RECORD_STRING], unit[128], container[128];
    uid_t user;   /* of the program */
    uid_t reader; /* may see its figures: the user, or root where the program has more rights than the user */
};

struct total {
    struct total_key key;
    uint64_t hangs, hang_ns, longest_ns, turns, busy_ns, idle_ns, histogram[HD_TURN_BUCKETS];
    unsigned processes, loops, frozen; /* of now */
};

struct totals {
    struct total *total; /* the last one is of all keys that have no place */
    size_t count;
};

/* The index of this key. A program can have any name, so there are at most TOTALS_MAX keys, and one for all
 * others. SIZE_MAX: no memory. */
#define TOTALS_MAX 1000u
size_t totals_find(struct totals *t, const struct total_key *key);
void totals_free(struct totals *t);

/* Adds the counters of a process. */
void total_add(struct total *to, const struct hd_record *record);

/* The figures in Prometheus' text form. */
void totals_print(FILE *out, const struct total *total, size_t count);

#endif
