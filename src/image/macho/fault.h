/* SPDX-License-Identifier: MIT
 *
 * The faults of a Mach-O image, with a text for each. Pure.
 */
#ifndef HD_IMAGE_MACHO_FAULT_H
#define HD_IMAGE_MACHO_FAULT_H

#include "base/types.h"

enum hd_macho_fault {
    HD_MACHO_FINE,
    HD_MACHO_UNREADABLE,      /* memory or file */
    HD_MACHO_NO_MAGIC,        /* no Mach-O header */
    HD_MACHO_NARROW,          /* 32 bits */
    HD_MACHO_BIG_ENDIAN,      /* the other byte order */
    HD_MACHO_MANY_COMMANDS,   /* more than this code reads */
    HD_MACHO_COMMAND_SIZE,    /* a load command is too short, or reaches over the end */
    HD_MACHO_SEGMENT_RANGE,   /* a segment wraps around, or its sections exceed the command */
    HD_MACHO_NO_TEXT,         /* no segment __TEXT */
    HD_MACHO_SECTION_OUTSIDE, /* a section is not in its segment */
    HD_MACHO_TABLE_OUTSIDE,   /* a table is not in __LINKEDIT */
    HD_MACHO_SLICE_OUTSIDE,   /* of a fat file */
    HD_MACHO_NO_CACHE,        /* the header is not of a dyld_shared_cache */
    HD_MACHO_MANY_MAPPINGS,   /* of a cache: more than this code reads */
    HD_MACHO_MAPPING_OUTSIDE, /* a mapping of a cache is not in the file */
    HD_MACHO_IMAGES_OUTSIDE,  /* the list of a cache's images is not in the file */
    HD_MACHO_FAULTS
};

/* English, without a full stop. Any number is safe. */
const char *hd_macho_fault_text(unsigned fault);

/* 0, -EFAULT for HD_MACHO_UNREADABLE, -EINVAL for the others. */
int hd_macho_fault_errno(unsigned fault);

/* The fault of a header that begins with `magic`; HD_MACHO_FINE: of 64 bits, little-endian. */
uint8_t hd_macho_fault_of_magic(uint32_t magic);

#endif
