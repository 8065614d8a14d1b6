/* SPDX-License-Identifier: MIT
 *
 * Rows of Mach-O images. On the worker thread, also during a hang, so without allocation.
 */
#include "unwind/macho/unwinder_macho.h"

#include <errno.h>
#include <string.h>

#include "unwind/arch/arch.h"

size_t hd_unwinder_bytes_macho(void) {
    return sizeof(struct hd_unwinder_macho);
}

static void image_read(struct hd_unwinder_macho *m, struct hd_macho_image *i, uint64_t header) {
    const struct hd_memory *memory = &m->u.lines.cached;
    memset(i, 0, sizeof *i);
    i->header = header;
    i->error = hd_macho_tables_read(memory, header, &i->tables);
    if (i->error == 0 && i->tables.cpu != HD_ARCH_MACHO_CPU) {
        i->error = -EINVAL;
    }
    if (i->error == 0) {
        i->compact_error = hd_compact_open(memory, &i->tables, &i->compact);
        hd_starts_open(&i->starts, memory, &i->tables);
    }
}

/* Returns the tables of the image at `header`. An image whose header is unreadable is read again next time:
 * it may be loading just now. */
static const struct hd_macho_image *image_at(struct hd_unwinder *u, uint64_t header) {
    struct hd_unwinder_macho *m = (struct hd_unwinder_macho *)(void *)u;
    if (m->flushes != u->flushes) {
        m->flushes = u->flushes;
        for (uint32_t i = 0; i < HD_MACHO_IMAGES; i++) {
            m->image[i].header = 0;
        }
    }
    for (uint32_t i = 0; i < HD_MACHO_IMAGES; i++) {
        if (m->image[i].header == header && m->image[i].error != -EFAULT) {
            return &m->image[i];
        }
    }
    struct hd_macho_image *image = &m->image[m->next];
    m->next = (m->next + 1) % HD_MACHO_IMAGES;
    image_read(m, image, header);
    return image;
}

/* Reads the FDE at offset `hint` of __eh_frame, if it covers pc; else searches all FDEs. */
static int find_fde(const struct hd_memory *memory, const struct hd_macho_tables *t, uint32_t hint,
                    uint64_t pc, struct hd_fde *out) {
    uint64_t limit = t->eh_frame + t->eh_frame_bytes, at = t->eh_frame + hint;
    if (t->eh_frame == 0 || limit < t->eh_frame) {
        return -ENOENT;
    }
    memset(out, 0, sizeof *out);
    if (hint != 0 && at < limit && hd_eh_frame_next(memory, &at, limit, out) == 0 && pc >= out->start &&
        pc < out->stop) {
        return 0;
    }
    memset(out, 0, sizeof *out);
    at = t->eh_frame;
    for (uint32_t i = 0; i < HD_EH_SCAN_MAX; i++) {
        int rc = hd_eh_frame_next(memory, &at, limit, out);
        if (rc != 0 || (pc >= out->start && pc < out->stop)) {
            return rc;
        }
    }
    return -ENOENT;
}

int hd_macho_look(struct hd_unwinder *u, const struct hd_module *module, uint64_t pc, struct hd_row *row,
                  struct hd_macho_look *out) {
    const struct hd_memory *memory = &u->lines.cached;
    const struct hd_macho_image *image = image_at(u, module->header);
    struct hd_compact_entry entry;
    memset(out, 0, sizeof *out);
    if (image->error != 0) {
        return image->error;
    }
    if (hd_macho_is_stub(&image->tables, pc)) {
        out->stub = true;
        return 0;
    }
    if (!hd_starts_find(&image->starts, memory, pc, &out->start, &out->stop)) {
        out->start = out->stop = 0;
    }
    int rc = image->compact_error;
    if (rc == 0) {
        rc = hd_compact_find(memory, &image->compact, pc, &entry);
    }
    if (rc != 0) {
        return rc == -ENOENT ? 0 : rc;
    }
    rc = hd_compact_row(memory, image->tables.cpu, &entry, row);
    if (rc < 0) {
        return rc;
    }
    out->kind = (uint8_t)rc;
    if (out->kind == HD_COMPACT_DWARF) {
        rc = find_fde(memory, &image->tables, HD_COMPACT_FDE(entry.encoding), pc, &out->fde);
        return rc == -ENOENT ? -EINVAL : rc;
    }
    return 0;
}

/* As hd_unwinder.tables_row says. */
static int macho_row(struct hd_unwinder *u, const struct hd_module *module, uint64_t pc, struct hd_row *row,
                     uint64_t *start) {
    struct hd_macho_look look;
    int rc = hd_macho_look(u, module, pc, row, &look);
    *start = look.start;
    if (rc != 0) {
        return rc;
    }
    if (look.kind == HD_COMPACT_DWARF) {
        *start = look.start != 0 ? look.start : look.fde.start;
        return hd_cfa_row(&u->lines.cached, &look.fde, pc, &u->scratch, row);
    }
    return look.kind == HD_COMPACT_NULL ? -ENOENT : 0;
}

void hd_unwinder_init_macho(struct hd_unwinder *u, struct hd_modules *modules) {
    struct hd_unwinder_macho *m = (struct hd_unwinder_macho *)(void *)u;
    u->tables_row = macho_row;
    u->own_step = hd_macho_step;
    u->lowest_pc = HD_MACHO_LOWEST_PC;
    hd_unwinder_start(u, modules);
    m->next = 0;
    m->flushes = u->flushes - 1;
}
