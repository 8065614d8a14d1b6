/* SPDX-License-Identifier: MIT
 *
 * The unwind tables of ELF modules, found by .eh_frame_hdr, or by where .eh_frame is. On the worker thread,
 * also during a hang, so without allocation.
 */
#include "unwind/unwinder.h"

/* As hd_unwinder.tables_row says. */
static int elf_row(struct hd_unwinder *u, const struct hd_module *module, uint64_t pc, struct hd_row *row,
                   uint64_t *start) {
    struct hd_eh_table table;
    struct hd_fde fde;
    const struct hd_memory *memory = &u->lines.cached;
    /* The loader may know a module in parts. Then the tables may lie outside of the part that has pc. */
    uint64_t hdr = module->eh_frame_hdr;
    uint64_t limit = hdr - module->lo < module->hi - module->lo ? module->hi : hdr + HD_EH_BYTES_MAX;
    int rc = 0;
    if (hdr != 0) {
        rc = hd_eh_table_open(memory, hdr, limit, &table);
    } else {
        table = (struct hd_eh_table){.frames = module->eh_frame, .limit = module->eh_frame_end};
    }
    if (rc == 0) {
        rc = table.entries != 0 ? hd_eh_table_find(memory, &table, pc, &fde)
                                : hd_eh_index_find(&u->index, memory, &table, pc, &fde);
    }
    if (rc == 0) {
        rc = hd_cfa_row(memory, &fde, pc, &u->scratch, row);
    }
    if (rc == 0) {
        *start = fde.start;
    }
    return rc;
}

size_t hd_unwinder_bytes(void) {
    return sizeof(struct hd_unwinder);
}

void hd_unwinder_init(struct hd_unwinder *u, struct hd_modules *modules) {
    u->tables_row = elf_row;
    u->own_step = NULL;
    u->lowest_pc = 1;
    hd_unwinder_start(u, modules);
}
