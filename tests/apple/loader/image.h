/* SPDX-License-Identifier: MIT
 *
 * One Mach-O image in memory: its segments, symbols and dependencies. The file is trusted: it is ours.
 */
#ifndef APPLE_LOADER_IMAGE_H
#define APPLE_LOADER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "macho.h"

#define IMAGE_SEGMENTS 16
#define IMAGE_NEEDS 16

struct image {
    char path[512];
    const char *shown; /* the path that dyld's list has: for a system library the install name */
    const char *name;  /* the path's last part */
    uint8_t *base;     /* the header in memory */
    uint64_t span;     /* bytes from `base` */
    uint64_t slide;
    uint64_t text_lo, text_hi; /* __TEXT in memory */
    uint64_t segment[IMAGE_SEGMENTS];
    int segments;
    const uint8_t *file;
    size_t file_bytes;
    const struct macho_symbol *symbols;
    uint32_t symbol_count;
    const char *strings;
    const char *needs[IMAGE_NEEDS]; /* install names of the dylibs that it is linked to */
    int need_count;
    const struct macho_dyld_info *info;
    const struct macho_linkedit *chained;
    uint64_t entry;            /* LC_MAIN's function; 0: a dylib */
    uint64_t init, init_count; /* __mod_init_func */
    uint64_t tls_lo, tls_hi,
        tls_template_bytes;              /* thread-local variables: the part with content comes first */
    uint64_t interpose, interpose_bytes; /* __DATA,__interpose */
    int tls_key;
    int references; /* by dlopen */
};

/* Maps the segments of the file `path`. Exits with a message if the file is no Mach-O of this CPU. */
void image_map(struct image *image, const char *path);
/* Gives each segment its protection. */
void image_protect(const struct image *image);
void image_unmap(struct image *image);
/* The address of the symbol that another image can see; 0: none. */
uint64_t image_symbol(const struct image *image, const char *name);
/* The name of the nearest symbol at or below `pc`, and the offset from it. */
const char *image_name_at(const struct image *image, uint64_t pc, uint64_t *offset);

#endif
