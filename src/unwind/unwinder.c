/* SPDX-License-Identifier: MIT
 *
 * Finds the compact rule for an address: first the module, then the FDE, the row, the rule. Caches rows and
 * rules. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/unwinder.h"

#include <errno.h>
#include <string.h>

size_t hd_unwinder_bytes(void) {
    return sizeof(struct hd_unwinder);
}

void hd_unwinder_init(struct hd_unwinder *u, struct hd_modules *modules) {
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
}

/* Reads the row for pc from the module's unwind tables. *start: the function's start. Returns 0; -ENOENT: no
 * table covers pc; -EINVAL: malformed; -EFAULT: the tables cannot be read. */
static int evaluate(struct hd_unwinder *u, const struct hd_module *module, uint64_t pc, struct hd_row *row,
                    uint64_t *start) {
    struct hd_eh_table table;
    struct hd_fde fde;
    const struct hd_memory *memory = &u->lines.cached;
    /* The loader may know a module in parts. Then the tables may lie outside of the part that has pc. */
    uint64_t hdr = module->eh_frame_hdr;
    uint64_t limit = hdr - module->lo < module->hi - module->lo ? module->hi : hdr + HD_EH_BYTES_MAX;
    int rc = hd_eh_table_open(memory, hdr, limit, &table);
    if (rc == 0) {
        rc = hd_eh_table_find(memory, &table, pc, &fde);
    }
    if (rc == 0) {
        rc = hd_cfa_row(memory, &fde, pc, &u->scratch, row);
    }
    if (rc == 0) {
        *start = fde.start;
    }
    return rc;
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
    if (index < 0 || evaluate(u, &u->modules->module[index], pc, &slot->row, &start) != 0) {
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
    uint64_t start;
    int rc = evaluate(u, &u->modules->module[index], pc, &u->one, &start);
    if (rc == -EFAULT) { /* not cached, because the module may be unloading just now */
        return fill_kind(&u->single, pc, HD_RULE_NO_CFI);
    }
    struct hd_cached_rule *e = insert(u, pc);
    fill_kind(e, pc, HD_RULE_NO_CFI);
    if (rc != 0) {
        return e;
    }
    hd_rule_from_row(&u->one, &e->rule);
    if (pc - start < UINT32_MAX) {
        e->start_back = (uint32_t)(pc - start);
    } else if (e->rule.kind <= HD_RULE_FP) {
        e->rule.kind = HD_RULE_ROW; /* because rules of the two plain kinds must have the function's start */
    }
    if (e->rule.kind == HD_RULE_ROW) {
        struct hd_cached_row *slot = row_slot(u, pc);
        slot->row = u->one;
        slot->pc = pc;
    }
    return e;
}
