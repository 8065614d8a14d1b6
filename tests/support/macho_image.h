/* SPDX-License-Identifier: MIT
 *
 * A Mach-O image that a test writes by hand: load commands one by one, bytes of tables. It is its own memory,
 * of which a test may cut off or damage any part.
 */
#ifndef MACHO_IMAGE_H
#define MACHO_IMAGE_H

#include "base/memory.h"
#include "image/macho/format.h"

#define MACHO_IMAGE_BYTES 0x8000u
#define MACHO_IMAGE_TEXT_BYTES 0x4000u /* __LINKEDIT follows, at the same offset of the file */
#define MACHO_IMAGE_VMADDR 0x100000000u

struct macho_image {
    uint64_t base;     /* the header's address in memory */
    uint32_t linkedit; /* used bytes of __LINKEDIT */
    uint64_t reads;
    uint64_t unreadable; /* reads that touch this address fail; 0: none */
    uint8_t bytes[MACHO_IMAGE_BYTES];
};

/* An image with __PAGEZERO, __TEXT (`sections` of it, in the segment's own numbering) and __LINKEDIT. */
void macho_image_init(struct macho_image *m, uint64_t base, const struct hd_macho_section *sections,
                      uint32_t count);

/* Adds a load command. */
void macho_image_command(struct macho_image *m, const void *command, uint32_t bytes);

/* Adds bytes to __LINKEDIT. Returns their offset in the file. */
uint32_t macho_image_table(struct macho_image *m, const void *bytes, uint32_t count);

static inline struct hd_macho_header *macho_image_header(struct macho_image *m) {
    return (struct hd_macho_header *)(void *)m->bytes;
}

/* The image as memory. */
struct hd_memory macho_image_memory(struct macho_image *m);

#endif
