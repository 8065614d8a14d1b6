/* SPDX-License-Identifier: MIT
 *
 * Finds the compact rule for an address: first the module, then the FDE, the row, the rule. Caches rows and
 * rules. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/unwinder.h"

#include <errno.h>
#include <string.h>

void hd_unwinder_start(struct hd_unwinder *u, struct hd_modules *modules) {
    u->modules = modules;
    hd_lines_init(&u->lines, &modules->memory);
    hd_unwinder_flush(u);
}

void hd_unwinder_flush(struct hd_unwinder *u) {
    for (uint32_t i = 0; i < HD_RULE_CACHE_ENTRIES; i++) {
        u->rule[i] =
            (struct hd_cached_rule){.pc = 0, .start_back = UINT32_MAX, .rule = {.kind = HD_RULE_EMPTY}};
    }
    for (uint32_t i = 0; i < HD_ROW_CACHE_ENTRIES; i++) {
        u->row[i].pc = 0;
    }
    hd_lines_flush(&u->lines);
    u->index.frames = 0;
    u->flushes++;
}

static struct hd_cached_row *row_slot(struct hd_unwinder *u, uint64_t pc) {
    return &u->row[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 60 & (HD_ROW_CACHE_ENTRIES - 1)];
}

const struct hd_row *hd_unwinder_row(struct hd_unwinder *u, uint64_t pc) {
    struct hd_cached_row *slot = row_slot(u, pc);
    uint64_t start;
    if (slot->pc == pc) {
        return &slot->row;
    }
    int index = hd_modules_at(u->modules, pc);
    slot->pc = 0;
    if (index < 0 || u->tables_row(u, &u->modules->module[index], pc, &slot->row, &start) != 0) {
        return NULL;
    }
    slot->pc = pc;
    return &slot->row;
}

/* Makes place for a rule in the first entry of a set. The set's second entry is lost: it is the older one. */
static struct hd_cached_rule *insert(struct hd_unwinder *u, uint64_t pc) {
    struct hd_cached_rule *set = hd_unwinder_set(u, pc);
    if (set[0].pc != pc) {
        set[1] = set[0];
    }
    return &set[0];
}

static struct hd_cached_rule *fill_kind(struct hd_cached_rule *e, uint64_t pc, enum hd_rule_kind kind) {
    *e = (struct hd_cached_rule){.pc = pc, .start_back = UINT32_MAX, .rule = {.kind = (uint8_t)kind}};
    return e;
}

int32_t hd_unwinder_notes(struct hd_unwinder *u, uint64_t pc, bool foreign) {
    const struct hd_cached_rule *e = hd_unwinder_probe(u, pc);
    return e != NULL && e->rule.kind == (foreign ? HD_RULE_FOREIGN : HD_RULE_NO_CFI) ? e->rule.cfa_offset : 0;
}

void hd_unwinder_note(struct hd_unwinder *u, uint64_t pc, bool foreign, int32_t notes) {
    enum hd_rule_kind kind = foreign ? HD_RULE_FOREIGN : HD_RULE_NO_CFI;
    struct hd_cached_rule *set = hd_unwinder_set(u, pc);
    struct hd_cached_rule *e = set[0].pc == pc ? &set[0] : set[1].pc == pc ? &set[1] : NULL;
    if (e == NULL || e->rule.kind != kind) {
        e = fill_kind(insert(u, pc), pc, kind);
    }
    e->rule.cfa_offset |= notes;
}

const struct hd_cached_rule *hd_unwinder_fill(struct hd_unwinder *u, uint64_t pc) {
    int index = hd_modules_at(u->modules, pc);
    if (index < 0) { /* not cached, because a module may be loaded there later */
        return fill_kind(&u->single, pc, HD_RULE_FOREIGN);
    }
    uint64_t start = 0;
    int rc = u->tables_row(u, &u->modules->module[index], pc, &u->one, &start);
    if (rc == -EFAULT) { /* not cached, because the module may be unloading just now */
        return fill_kind(&u->single, pc, HD_RULE_NO_CFI);
    }
    struct hd_cached_rule *e = insert(u, pc);
    fill_kind(e, pc, HD_RULE_NO_CFI);
    if (start != 0 && pc - start < UINT32_MAX) {
        e->start_back = (uint32_t)(pc - start);
    }
    if (rc != 0) {
        return e;
    }
    hd_rule_from_row(&u->one, &e->rule);
    if (e->start_back == UINT32_MAX && e->rule.kind <= HD_RULE_FP) {
        e->rule.kind = HD_RULE_ROW; /* because rules of the two plain kinds must have the function's start */
    }
    if (e->rule.kind == HD_RULE_ROW) {
        struct hd_cached_row *slot = row_slot(u, pc);
        slot->row = u->one;
        slot->pc = pc;
    }
    return e;
}
