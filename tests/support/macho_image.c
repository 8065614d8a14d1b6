/* SPDX-License-Identifier: MIT */
#include "macho_image.h"

#include <errno.h>
#include <string.h>

static int read_image(void *ctx, uint64_t addr, void *dst, size_t n) {
    struct macho_image *m = ctx;
    m->reads++;
    if (addr < m->base || n > sizeof m->bytes || addr - m->base > sizeof m->bytes - n ||
        (m->unreadable != 0 && m->unreadable - addr < n)) {
        return -EFAULT;
    }
    memcpy(dst, m->bytes + (addr - m->base), n);
    return 0;
}

struct hd_memory macho_image_memory(struct macho_image *m) {
    return (struct hd_memory){.read = read_image, .ctx = m};
}

void macho_image_command(struct macho_image *m, const void *command, uint32_t bytes) {
    struct hd_macho_header *h = macho_image_header(m);
    memcpy(m->bytes + sizeof *h + h->commands_bytes, command, bytes);
    h->commands++;
    h->commands_bytes += bytes;
}

static void segment(struct macho_image *m, const char *name, uint64_t address, uint64_t memory,
                    uint64_t offset, uint64_t file, const struct hd_macho_section *sections, uint32_t count) {
    uint8_t command[sizeof(struct hd_macho_segment) + 16 * sizeof *sections];
    struct hd_macho_segment s = {
        .command = HD_LC_SEGMENT_64,
        .bytes = (uint32_t)(sizeof s + count * sizeof *sections),
        .address = address,
        .memory_bytes = memory,
        .offset = offset,
        .file_bytes = file,
        .sections = count,
    };
    memcpy(s.name, name, strlen(name));
    memcpy(command, &s, sizeof s);
    if (count != 0) {
        memcpy(command + sizeof s, sections, count * sizeof *sections);
    }
    macho_image_command(m, command, s.bytes);
}

void macho_image_init(struct macho_image *m, uint64_t base, const struct hd_macho_section *sections,
                      uint32_t count) {
    memset(m, 0, sizeof *m);
    m->base = base;
    *macho_image_header(m) = (struct hd_macho_header){
        .magic = HD_MACHO_MAGIC_64, .cpu = HD_MACHO_CPU_ARM64, .file_type = HD_MACHO_EXECUTE};
    segment(m, "__PAGEZERO", 0, MACHO_IMAGE_VMADDR, 0, 0, NULL, 0);
    segment(m, "__TEXT", MACHO_IMAGE_VMADDR, MACHO_IMAGE_TEXT_BYTES, 0, MACHO_IMAGE_TEXT_BYTES, sections,
            count);
    uint32_t rest = MACHO_IMAGE_BYTES - MACHO_IMAGE_TEXT_BYTES;
    segment(m, "__LINKEDIT", MACHO_IMAGE_VMADDR + MACHO_IMAGE_TEXT_BYTES, rest, MACHO_IMAGE_TEXT_BYTES, rest,
            NULL, 0);
}

uint32_t macho_image_table(struct macho_image *m, const void *bytes, uint32_t count) {
    uint32_t offset = MACHO_IMAGE_TEXT_BYTES + m->linkedit;
    memcpy(m->bytes + offset, bytes, count);
    m->linkedit += count;
    return offset;
}
