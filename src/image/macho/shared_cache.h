/* SPDX-License-Identifier: MIT
 *
 * The images of a dyld_shared_cache file: since macOS 11 the system's libraries are in no other file. A cache
 * may have further files (.01, .02 ...), with mappings of their own. Files are memory, with offsets as
 * addresses. Reads may fail; any value is safe. No allocation.
 */
#ifndef HD_IMAGE_MACHO_SHARED_CACHE_H
#define HD_IMAGE_MACHO_SHARED_CACHE_H

#include "image/macho/macho.h"

#define HD_SHARED_CACHE_MAPPINGS_MAX 96u  /* of all files; more are a fault */
#define HD_SHARED_CACHE_IMAGES_MAX 65536u /* the same */

struct hd_shared_cache_mapping {
    const struct hd_memory *file;
    uint64_t address, bytes, offset;
};

/* Has pointers to itself: not to be copied. */
struct hd_shared_cache {
    const struct hd_memory *file; /* the first file, which has the list of images */
    uint64_t file_bytes;
    uint64_t images; /* offset of the list */
    uint32_t count;
    uint32_t mappings;
    uint8_t fault;           /* enum hd_macho_fault */
    uint8_t uuid[16];        /* of the first file */
    char cpu[8];             /* "arm64e", "x86_64h" */
    struct hd_memory memory; /* addresses as if the cache were not slid */
    struct hd_shared_cache_mapping mapping[HD_SHARED_CACHE_MAPPINGS_MAX];
};

struct hd_shared_cache_image {
    uint64_t header; /* its address, for hd_macho_tables_read with the cache's memory */
    char path[256];
};

/* 0; -EFAULT; -EINVAL: see c->fault. `file` must live as long as `c`. */
int hd_shared_cache_init(struct hd_shared_cache *c, const struct hd_memory *file, uint64_t bytes);

/* Adds the mappings of a further file of the same cache. */
int hd_shared_cache_add(struct hd_shared_cache *c, const struct hd_memory *file, uint64_t bytes);

/* Image number `i`. False: there is none, or the list cannot be read. */
bool hd_shared_cache_image(const struct hd_shared_cache *c, uint32_t i, struct hd_shared_cache_image *out);

/* The image with this path. False: there is none. */
bool hd_shared_cache_named(const struct hd_shared_cache *c, const char *path,
                           struct hd_shared_cache_image *out);

/* The image whose __TEXT has this address. False: there is none, or its header cannot be read. */
bool hd_shared_cache_at(const struct hd_shared_cache *c, uint64_t pc, struct hd_shared_cache_image *out);

#endif
