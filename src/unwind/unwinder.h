/* SPDX-License-Identifier: MIT
 *
 * The unwinder's caches of compact rules and rows, and the functions that fill them. Private to src/unwind.
 * On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_UNWINDER_H
#define HD_UNWIND_UNWINDER_H

#include "unwind/cfa.h"
#include "unwind/eh_index.h"
#include "unwind/expression.h"
#include "unwind/lines.h"
#include "unwind/rule.h"
#include "unwind/unwind.h"

#define HD_ROW_CACHE_ENTRIES 16u

struct hd_cached_row {
    uint64_t pc; /* 0: unused */
    struct hd_row row;
};

struct hd_walker;

struct hd_unwinder {
    struct hd_cached_rule rule[HD_RULE_CACHE_ENTRIES]; /* sets of two entries, of the same hash of pc */
    struct hd_cached_rule single; /* the answer of hd_unwinder_fill that may not be cached */
    struct hd_cached_row row[HD_ROW_CACHE_ENTRIES]; /* rows that no compact rule can express, by hash of pc */
    struct hd_modules *modules;
    /* Reads the row for pc from the module's unwind tables. *start: the function's start, also set after an
     * error if it is known. Returns 0; -ENOENT: no table covers pc; -EINVAL: malformed; -EFAULT: the tables
     * cannot be read. */
    int (*tables_row)(struct hd_unwinder *u, const struct hd_module *module, uint64_t pc, struct hd_row *row,
                      uint64_t *start);
    /* Takes a step that needs more than the frame's rule. Returns as hd_step, or HD_STEP_BY_RULE. NULL: the
     * tables of the module's format describe every instruction. */
    uint8_t (*own_step)(struct hd_walker *w, const struct hd_cached_rule *e);
    uint32_t lowest_pc; /* a lower return address ends the walk */
    uint32_t flushes;   /* how often the caches were emptied */
    struct hd_lines lines;
    struct hd_eh_index index; /* of the last module that has .eh_frame without a sorted table */
    struct hd_row one;        /* the row that hd_unwinder_fill makes a rule of */
    struct hd_cfa_scratch scratch;
};

/* Initialises all but the two functions of the tables. */
void hd_unwinder_start(struct hd_unwinder *u, struct hd_modules *modules);

/* Finds the rule for a pc that is not in the cache, and caches the rule. Never NULL. The result is valid
 * until the next call. */
const struct hd_cached_rule *hd_unwinder_fill(struct hd_unwinder *u, uint64_t pc);

/* Stores facts (HD_NOTE_*) about the code at pc, which no unwind table describes. `foreign`: pc is in no
 * module. */
void hd_unwinder_note(struct hd_unwinder *u, uint64_t pc, bool foreign, int32_t notes);

/* Returns the stored facts (HD_NOTE_*) about pc; 0: none are stored. `foreign`: pc is in no module. */
int32_t hd_unwinder_notes(struct hd_unwinder *u, uint64_t pc, bool foreign);

/* Returns the whole row for pc, or NULL if no unwind table covers pc. Valid until the next call. */
const struct hd_row *hd_unwinder_row(struct hd_unwinder *u, uint64_t pc);

/* Returns the two entries of the rule cache that may have the rule for pc. */
static inline struct hd_cached_rule *hd_unwinder_set(struct hd_unwinder *u, uint64_t pc) {
    _Static_assert((HD_RULE_CACHE_ENTRIES & (HD_RULE_CACHE_ENTRIES - 1)) == 0, "a power of two");
    _Static_assert(sizeof u->rule <= 65536, "16 bits of the hash are an offset");
    uint64_t offset = (pc * UINT64_C(0x9e3779b97f4a7c15)) >> 48 & (sizeof u->rule - 2 * sizeof u->rule[0]);
    return (struct hd_cached_rule *)(void *)((uint8_t *)u->rule + offset);
}

/* Returns the cached rule for pc, or NULL. */
static inline const struct hd_cached_rule *hd_unwinder_probe(struct hd_unwinder *u, uint64_t pc) {
    const struct hd_cached_rule *set = hd_unwinder_set(u, pc);
    if (__builtin_expect(set[0].pc == pc, 1)) {
        return &set[0];
    }
    return set[1].pc == pc ? &set[1] : NULL;
}

static inline const struct hd_cached_rule *hd_unwinder_rule(struct hd_unwinder *u, uint64_t pc) {
    const struct hd_cached_rule *e = hd_unwinder_probe(u, pc);
    return __builtin_expect(e != NULL, 1) ? e : hd_unwinder_fill(u, pc);
}

#endif
