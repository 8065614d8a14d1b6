/* SPDX-License-Identifier: MIT
 *
 * Sums over programs with the same app, unit, container and user. They never fall: the part of a process
 * stays after its end, until other keys need the place. Ordinary code.
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
    unsigned users;                    /* watched processes that have the index */
    uint64_t left;                     /* a number: which of the unused ones was left first */
};

struct totals {
    struct total *total; /* at TOTALS_MAX: of all keys that have no place */
    size_t count;
    uint64_t lefts;
};

/* The index of this key, for one process, until totals_leave. A program can have any name, so there are at
 * most TOTALS_MAX keys. A new key takes the place of the unused key that was left first, else that of all
 * others. SIZE_MAX: no memory. */
#define TOTALS_MAX 1000u
size_t totals_take(struct totals *t, const struct total_key *key);
void totals_leave(struct totals *t, size_t index);
void totals_free(struct totals *t);

/* Adds the counters of a process. */
void total_add(struct total *to, const struct hd_record *record);

/* The figures in Prometheus' text form. */
void totals_print(FILE *out, const struct total *total, size_t count);

#endif
