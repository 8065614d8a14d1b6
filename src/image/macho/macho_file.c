/* SPDX-License-Identifier: MIT
 *
 * The load commands are walked twice: first at their place in the file, for the segments; then, by the reader
 * of images, at their address.
 */
#include "image/macho/macho_file.h"

#include <errno.h>
#include <string.h>

#include "image/macho/commands.h"

static bool read_file(const struct hd_macho_file *f, uint64_t offset, void *dst, size_t n) {
    return offset <= f->slice.bytes && n <= f->slice.bytes - offset &&
           hd_memory_read(f->file, f->slice.offset + offset, dst, n);
}

/* Reads within one segment; what the file does not have is zero. */
static bool read_segment(const struct hd_macho_file *f, const struct hd_macho_file_segment *s,
                         uint64_t inside, uint8_t *dst, size_t n) {
    size_t of_file = 0;
    if (inside < s->file_bytes) {
        of_file = s->file_bytes - inside < n ? (size_t)(s->file_bytes - inside) : n;
    }
    memset(dst + of_file, 0, n - of_file);
    return of_file == 0 || read_file(f, s->offset + inside, dst, of_file);
}

static int read_mapped(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct hd_macho_file *f = ctx;
    for (uint32_t i = 0; i < f->segments; i++) {
        const struct hd_macho_file_segment *s = &f->segment[i];
        uint64_t inside = addr - s->address;
        if (inside < s->memory_bytes && n <= s->memory_bytes - inside) {
            return read_segment(f, s, inside, dst, n) ? 0 : -EFAULT;
        }
    }
    return -EFAULT;
}

/* The header of a dSYM is in no segment: there __TEXT has no bytes of the file. */
static int read_image(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct hd_macho_file *f = ctx;
    uint64_t inside = addr - f->header;
    if (inside < f->header_bytes && n <= f->header_bytes - inside) {
        return read_file(f, inside, dst, n) ? 0 : -EFAULT;
    }
    return read_mapped(ctx, addr, dst, n);
}

static int read_slice(void *ctx, uint64_t addr, void *dst, size_t n) {
    return read_file(ctx, addr, dst, n) ? 0 : -EFAULT;
}

static void add_segment(struct hd_macho_file *f, const struct hd_macho_segment *s) {
    if (f->segments < HD_MACHO_SEGMENTS_MAX && s->file_bytes != 0 &&
        s->address + s->memory_bytes >= s->address) {
        f->segment[f->segments++] =
            (struct hd_macho_file_segment){s->address, s->memory_bytes, s->offset, s->file_bytes};
    }
}

static bool find_segments(struct hd_macho_file *f) {
    struct hd_memory slice = {.read = read_slice, .ctx = f};
    struct hd_macho_commands c;
    struct hd_macho_segment s;
    bool has_text = false;
    bool good = hd_macho_first_command(&c, &slice, 0);
    while (good && hd_macho_next_command(&c)) {
        if (c.head.command != HD_LC_SEGMENT_64) {
            continue;
        }
        good = hd_macho_command_read(&c, &s, sizeof s);
        if (good) {
            add_segment(f, &s);
        }
        if (good && !has_text && strncmp(s.name, "__TEXT", sizeof s.name) == 0) {
            f->header = s.address;
            has_text = true;
        }
    }
    f->header_bytes = sizeof c.header + c.header.commands_bytes;
    f->fault = c.fault == HD_MACHO_FINE && !has_text ? HD_MACHO_NO_TEXT : c.fault;
    return f->fault == HD_MACHO_FINE;
}

int hd_macho_file_init(struct hd_macho_file *f, const struct hd_memory *file,
                       const struct hd_macho_slice *slice) {
    *f = (struct hd_macho_file){.file = file, .slice = *slice};
    f->memory = (struct hd_memory){.read = read_image, .ctx = f};
    if (!find_segments(f)) {
        return hd_macho_fault_errno(f->fault);
    }
    int rc = hd_macho_tables_read(&f->memory, f->header, &f->tables);
    f->fault = f->tables.fault;
    return rc;
}

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct hd_macho_bytes *b = ctx;
    if (addr > b->count || n > b->count - addr) {
        return -EFAULT;
    }
    memcpy(dst, b->bytes + addr, n);
    return 0;
}

struct hd_memory hd_macho_bytes_memory(const struct hd_macho_bytes *b) {
    return (struct hd_memory){.read = read_bytes, .ctx = (void *)(uintptr_t)b};
}
