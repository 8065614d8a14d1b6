/* SPDX-License-Identifier: MIT */
#include "image/macho/fault.h"

#include <errno.h>

#include "image/macho/format.h"

const char *hd_macho_fault_text(unsigned fault) {
    static const char texts[HD_MACHO_FAULTS][64] = {
        [HD_MACHO_FINE] = "no fault",
        [HD_MACHO_UNREADABLE] = "the image cannot be read",
        [HD_MACHO_NO_MAGIC] = "there is no Mach-O header",
        [HD_MACHO_NARROW] = "the Mach-O image has 32 bits",
        [HD_MACHO_BIG_ENDIAN] = "the Mach-O image is big-endian",
        [HD_MACHO_MANY_COMMANDS] = "the image has too many load commands",
        [HD_MACHO_COMMAND_SIZE] = "a load command has a wrong size",
        [HD_MACHO_SEGMENT_RANGE] = "a segment has a wrong range",
        [HD_MACHO_NO_TEXT] = "the image has no segment __TEXT",
        [HD_MACHO_SECTION_OUTSIDE] = "a section is outside its segment",
        [HD_MACHO_TABLE_OUTSIDE] = "a table is outside __LINKEDIT",
        [HD_MACHO_SLICE_OUTSIDE] = "an image of the fat file is outside the file",
        [HD_MACHO_NO_CACHE] = "there is no header of a dyld_shared_cache",
        [HD_MACHO_MANY_MAPPINGS] = "the shared cache has too many mappings",
        [HD_MACHO_MAPPING_OUTSIDE] = "a mapping of the shared cache is outside the file",
        [HD_MACHO_IMAGES_OUTSIDE] = "the shared cache's list of images is outside the file",
    };
    return fault < HD_MACHO_FAULTS ? texts[fault] : "an unknown fault";
}

int hd_macho_fault_errno(unsigned fault) {
    if (fault == HD_MACHO_FINE) {
        return 0;
    }
    return fault == HD_MACHO_UNREADABLE ? -EFAULT : -EINVAL;
}

uint8_t hd_macho_fault_of_magic(uint32_t magic) {
    switch (magic) {
    case HD_MACHO_MAGIC_64:
        return HD_MACHO_FINE;
    case 0xfeedfaceu:
        return HD_MACHO_NARROW;
    case 0xcffaedfeu:
    case 0xcefaedfeu:
        return HD_MACHO_BIG_ENDIAN;
    default:
        return HD_MACHO_NO_MAGIC;
    }
}
