/* SPDX-License-Identifier: MIT */
#include "macho_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAT_MAGIC 0xbebafecau /* big-endian */
#define IMAGE_MAX (UINT64_C(1) << 28)

static int read_file(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct macho_file *f = ctx;
    uint64_t at = addr - f->base;
    if (addr < f->base || at > f->bytes_count || n > f->bytes_count - at) {
        return f->beyond != NULL ? f->beyond(f->beyond_ctx, addr, dst, n) : -EFAULT;
    }
    memcpy(dst, f->bytes + at, n);
    return 0;
}

static uint8_t *read_whole(const char *path, size_t *bytes) {
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        return NULL;
    }
    uint8_t *whole = NULL;
    if (fseek(in, 0, SEEK_END) == 0 && ftell(in) > 0) {
        *bytes = (size_t)ftell(in);
        whole = malloc(*bytes);
        rewind(in);
        if (whole != NULL && fread(whole, 1, *bytes, in) != *bytes) {
            free(whole);
            whole = NULL;
        }
    }
    fclose(in);
    return whole;
}

static uint32_t big(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Finds the slice for `cpu`. Returns its offset, or SIZE_MAX. */
static size_t find_slice(const uint8_t *whole, size_t bytes, uint32_t cpu) {
    uint32_t magic;
    if (bytes < sizeof(struct hd_macho_header)) {
        return SIZE_MAX;
    }
    memcpy(&magic, whole, 4);
    if (magic != FAT_MAGIC) {
        return 0;
    }
    for (uint32_t i = 0; i < big(whole + 4) && 8 + 20 * (size_t)(i + 1) <= bytes; i++) {
        const uint8_t *slice = whole + 8 + 20 * (size_t)i;
        if (big(slice) == cpu && big(slice + 8) < bytes) {
            return big(slice + 8);
        }
    }
    return SIZE_MAX;
}

/* Calls `each` for every segment but __PAGEZERO. False: a segment is not in the file. */
static bool segments(struct macho_file *f, const uint8_t *slice, size_t bytes,
                     void (*each)(struct macho_file *, const struct hd_macho_segment *, const uint8_t *)) {
    const struct hd_macho_header *header = (const void *)slice;
    size_t at = sizeof *header;
    for (uint32_t i = 0; i < header->commands && at + sizeof(struct hd_macho_segment) <= bytes; i++) {
        struct hd_macho_segment s;
        memcpy(&s, slice + at, sizeof s);
        at += s.bytes;
        if (s.command != HD_LC_SEGMENT_64 || (s.file_bytes == 0 && s.offset == 0 && s.protection == 0)) {
            continue;
        }
        if (s.offset > bytes || s.file_bytes > bytes - s.offset || s.file_bytes > s.memory_bytes) {
            return false;
        }
        each(f, &s, slice);
    }
    return true;
}

static uint64_t lowest;

static void measure(struct macho_file *f, const struct hd_macho_segment *s, const uint8_t *slice) {
    (void)slice;
    if (strncmp(s->name, "__TEXT", sizeof s->name) == 0) {
        lowest = s->address;
    }
    if (s->address + s->memory_bytes - lowest > f->bytes_count) {
        f->bytes_count = s->address + s->memory_bytes - lowest;
    }
}

static void copy(struct macho_file *f, const struct hd_macho_segment *s, const uint8_t *slice) {
    memcpy(f->bytes + (s->address - lowest), slice + s->offset, s->file_bytes);
}

bool macho_file_open(struct macho_file *f, const char *path, uint32_t cpu, uint64_t base) {
    size_t bytes = 0;
    uint8_t *whole = read_whole(path, &bytes);
    size_t slice = whole != NULL ? find_slice(whole, bytes, cpu) : SIZE_MAX;
    memset(f, 0, sizeof *f);
    f->memory = (struct hd_memory){.read = read_file, .ctx = f};
    f->base = base;
    bool fine = slice < bytes && ((const struct hd_macho_header *)(const void *)(whole + slice))->cpu == cpu;
    lowest = 0;
    fine = fine && segments(f, whole + slice, bytes - slice, measure) && f->bytes_count < IMAGE_MAX;
    if (fine) {
        f->bytes = calloc(1, f->bytes_count);
        f->cpu = cpu;
        fine = f->bytes != NULL && segments(f, whole + slice, bytes - slice, copy);
    }
    free(whole);
    return fine;
}

void macho_file_close(struct macho_file *f) {
    free(f->bytes);
    f->bytes = NULL;
}
