/* SPDX-License-Identifier: MIT
 *
 * The header of a fat file is big-endian. A Java class file begins with the same number.
 */
#include "image/macho/slices.h"

#include "image/macho/format.h"

#define FAT_MAGIC 0xcafebabeu
#define FAT_MAGIC_64 0xcafebabfu
#define FAT_SLICE 20u
#define FAT_SLICE_64 32u

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t big64(const uint8_t *p) {
    return (uint64_t)big32(p) << 32 | big32(p + 4);
}

static int fails(struct hd_macho_slices *out, uint8_t fault) {
    out->count = 0;
    out->fault = fault;
    return hd_macho_fault_errno(fault);
}

static int read_fat(const struct hd_memory *file, uint64_t bytes, uint32_t count, bool wide,
                    struct hd_macho_slices *out) {
    uint8_t entry[FAT_SLICE_64];
    uint64_t size = wide ? FAT_SLICE_64 : FAT_SLICE;
    out->fault = HD_MACHO_FINE;
    for (uint32_t i = 0; i < count && i < HD_MACHO_SLICES_MAX; i++) {
        if (!hd_memory_read(file, 8 + i * size, entry, size)) {
            return fails(out, HD_MACHO_UNREADABLE);
        }
        struct hd_macho_slice s = {
            .cpu = big32(entry),
            .cpu_subtype = big32(entry + 4),
            .offset = wide ? big64(entry + 8) : big32(entry + 8),
            .bytes = wide ? big64(entry + 16) : big32(entry + 12),
        };
        if (s.offset > bytes || s.bytes > bytes - s.offset || s.bytes < sizeof(struct hd_macho_header)) {
            out->fault = HD_MACHO_SLICE_OUTSIDE;
            continue;
        }
        out->slice[out->count++] = s;
    }
    if (out->count == 0) {
        return fails(out, out->fault != HD_MACHO_FINE ? out->fault : HD_MACHO_NO_MAGIC);
    }
    return 0;
}

int hd_macho_slices_read(const struct hd_memory *file, uint64_t bytes, struct hd_macho_slices *out) {
    struct hd_macho_header header;
    *out = (struct hd_macho_slices){.count = 0};
    if (bytes < sizeof header) {
        return fails(out, HD_MACHO_NO_MAGIC);
    }
    if (!hd_memory_read(file, 0, &header, sizeof header)) {
        return fails(out, HD_MACHO_UNREADABLE);
    }
    const uint8_t *head = (const uint8_t *)&header;
    uint32_t magic = big32(head);
    if (magic == FAT_MAGIC || magic == FAT_MAGIC_64) {
        return read_fat(file, bytes, big32(head + 4), magic == FAT_MAGIC_64, out);
    }
    uint8_t fault = hd_macho_fault_of_magic(header.magic);
    if (fault != HD_MACHO_FINE) {
        return fails(out, fault);
    }
    out->slice[out->count++] = (struct hd_macho_slice){header.cpu, header.cpu_subtype, 0, bytes};
    return 0;
}

const struct hd_macho_slice *hd_macho_slice_of(const struct hd_macho_slices *s, uint32_t cpu) {
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->slice[i].cpu == cpu) {
            return &s->slice[i];
        }
    }
    return NULL;
}
