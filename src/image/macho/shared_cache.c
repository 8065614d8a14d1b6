/* SPDX-License-Identifier: MIT
 *
 * The header has grown over the years. Where the list of mappings begins says how long it is; the list of
 * images has moved with that.
 */
#include "image/macho/shared_cache.h"

#include <errno.h>
#include <string.h>

#include "image/read_string.h"

struct head {
    char magic[16]; /* "dyld_v1  arm64e" */
    uint32_t mappings_offset, mappings;
    uint32_t old_images_offset, old_images;
    uint8_t unused[56];
    uint8_t uuid[16];
};

struct mapping {
    uint64_t address, bytes, offset;
    uint32_t max_protection, protection;
};

struct image {
    uint64_t address, time, inode;
    uint32_t path, pad; /* offset in the file */
};

#define IMAGES_AT 0x1c0u /* in headers that are longer than this */

static int read_mapped(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct hd_shared_cache *c = ctx;
    for (uint32_t i = 0; i < c->mappings; i++) {
        const struct hd_shared_cache_mapping *m = &c->mapping[i];
        uint64_t inside = addr - m->address;
        if (inside < m->bytes && n <= m->bytes - inside) {
            return hd_memory_read(m->file, m->offset + inside, dst, n) ? 0 : -EFAULT;
        }
    }
    return -EFAULT;
}

static int fails(struct hd_shared_cache *c, uint8_t fault) {
    c->fault = fault;
    return hd_macho_fault_errno(fault);
}

static int add_mappings(struct hd_shared_cache *c, const struct hd_memory *file, uint64_t bytes,
                        const struct head *h) {
    for (uint32_t i = 0; i < h->mappings; i++) {
        struct mapping m;
        if (c->mappings == HD_SHARED_CACHE_MAPPINGS_MAX) {
            return fails(c, HD_MACHO_MANY_MAPPINGS);
        }
        if (!hd_memory_read(file, h->mappings_offset + (uint64_t)i * sizeof m, &m, sizeof m)) {
            return fails(c, HD_MACHO_UNREADABLE);
        }
        if (m.address + m.bytes < m.address || m.offset > bytes || m.bytes > bytes - m.offset) {
            return fails(c, HD_MACHO_MAPPING_OUTSIDE);
        }
        c->mapping[c->mappings++] = (struct hd_shared_cache_mapping){file, m.address, m.bytes, m.offset};
    }
    return 0;
}

static int read_head(struct hd_shared_cache *c, const struct hd_memory *file, struct head *h) {
    if (!hd_memory_read(file, 0, h, sizeof *h)) {
        return fails(c, HD_MACHO_UNREADABLE);
    }
    if (memcmp(h->magic, "dyld_v", 6) != 0 || h->magic[15] != '\0') {
        return fails(c, HD_MACHO_NO_CACHE);
    }
    return 0;
}

static int find_images(struct hd_shared_cache *c, const struct head *h) {
    uint32_t list[2] = {h->old_images_offset, h->old_images};
    if (h->mappings_offset > IMAGES_AT && !hd_memory_read(c->file, IMAGES_AT, list, sizeof list)) {
        return fails(c, HD_MACHO_UNREADABLE);
    }
    if (list[1] > HD_SHARED_CACHE_IMAGES_MAX || list[0] > c->file_bytes ||
        list[1] * (uint64_t)sizeof(struct image) > c->file_bytes - list[0]) {
        return fails(c, HD_MACHO_IMAGES_OUTSIDE);
    }
    c->images = list[0];
    c->count = list[1];
    return 0;
}

int hd_shared_cache_init(struct hd_shared_cache *c, const struct hd_memory *file, uint64_t bytes) {
    struct head h;
    memset(c, 0, sizeof *c);
    c->file = file;
    c->file_bytes = bytes;
    c->memory = (struct hd_memory){.read = read_mapped, .ctx = c};
    int rc = read_head(c, file, &h);
    if (rc != 0) {
        return rc;
    }
    const char *cpu = h.magic + 7;
    cpu += strspn(cpu, " ");
    strncpy(c->cpu, cpu, sizeof c->cpu - 1);
    memcpy(c->uuid, h.uuid, sizeof c->uuid);
    rc = add_mappings(c, file, bytes, &h);
    return rc != 0 ? rc : find_images(c, &h);
}

int hd_shared_cache_add(struct hd_shared_cache *c, const struct hd_memory *file, uint64_t bytes) {
    struct head h;
    int rc = read_head(c, file, &h);
    return rc != 0 ? rc : add_mappings(c, file, bytes, &h);
}

static bool read_image(const struct hd_shared_cache *c, uint32_t i, struct image *out) {
    return i < c->count && hd_memory_read(c->file, c->images + i * (uint64_t)sizeof *out, out, sizeof *out);
}

bool hd_shared_cache_image(const struct hd_shared_cache *c, uint32_t i, struct hd_shared_cache_image *out) {
    struct image image;
    if (!read_image(c, i, &image)) {
        return false;
    }
    out->header = image.address;
    return hd_image_read_string(c->file, image.path, out->path, sizeof out->path) == 0;
}

bool hd_shared_cache_named(const struct hd_shared_cache *c, const char *path,
                           struct hd_shared_cache_image *out) {
    for (uint32_t i = 0; i < c->count; i++) {
        if (hd_shared_cache_image(c, i, out) && strcmp(out->path, path) == 0) {
            return true;
        }
    }
    return false;
}

bool hd_shared_cache_at(const struct hd_shared_cache *c, uint64_t pc, struct hd_shared_cache_image *out) {
    struct hd_macho_tables tables;
    uint64_t nearest = 0;
    uint32_t index = c->count;
    for (uint32_t i = 0; i < c->count; i++) {
        struct image image;
        if (read_image(c, i, &image) && image.address <= pc && image.address >= nearest) {
            nearest = image.address;
            index = i;
        }
    }
    return hd_shared_cache_image(c, index, out) &&
           hd_macho_tables_read(&c->memory, out->header, &tables) == 0 &&
           pc - out->header < tables.text_bytes;
}
