/* SPDX-License-Identifier: MIT
 *
 * A Mach-O image in a file, as memory: each byte has the address that the loader would map it at. The reader
 * of images in memory then reads files, too. The file's bytes are memory, with offsets as addresses. No
 * allocation.
 */
#ifndef HD_IMAGE_MACHO_MACHO_FILE_H
#define HD_IMAGE_MACHO_MACHO_FILE_H

#include "image/macho/macho.h"
#include "image/macho/slices.h"

#define HD_MACHO_SEGMENTS_MAX 64u /* the bytes of further segments cannot be read */

struct hd_macho_file_segment {
    uint64_t address, memory_bytes;
    uint64_t offset, file_bytes; /* in the slice */
};

/* Has pointers to itself: not to be copied. */
struct hd_macho_file {
    const struct hd_memory *file;
    struct hd_macho_slice slice;
    uint64_t header;         /* the address of the header: the vmaddr of __TEXT */
    uint64_t header_bytes;   /* of the header and its load commands */
    struct hd_memory memory; /* addresses in the file's own numbering */
    struct hd_macho_tables tables;
    uint8_t fault; /* enum hd_macho_fault */
    uint32_t segments;
    struct hd_macho_file_segment segment[HD_MACHO_SEGMENTS_MAX];
};

/* Reads the image of a slice. `file` must live as long as `f`. 0; -EFAULT; -EINVAL: see f->fault. */
int hd_macho_file_init(struct hd_macho_file *f, const struct hd_memory *file,
                       const struct hd_macho_slice *slice);

/* Bytes in memory as a file's bytes; `b` must live as long as the result. */
struct hd_macho_bytes {
    const uint8_t *bytes;
    uint64_t count;
};
struct hd_memory hd_macho_bytes_memory(const struct hd_macho_bytes *b);

#endif
