/* SPDX-License-Identifier: MIT */
#include "image.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CPU MACHO_CPU_X86_64
#else
#define CPU MACHO_CPU_ARM64
#endif
#define PAGE 0x4000u /* Apple's largest page */

static int next_tls_key = 1;

static void file_open(struct image *image, const char *path) {
    snprintf(image->path, sizeof image->path, "%s", path);
    const char *slash = strrchr(image->path, '/');
    image->name = slash ? slash + 1 : image->path;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        err(2, "%s", path);
    }
    image->file_bytes = (size_t)st.st_size;
    image->file = mmap(NULL, image->file_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const struct macho_header *header = (const void *)image->file;
    if (image->file == MAP_FAILED || image->file_bytes < sizeof *header || header->magic != MACHO_MAGIC ||
        header->cpu != CPU) {
        errx(2, "%s: no thin Mach-O file of this CPU", path);
    }
}

#define EACH_COMMAND(image, c)                                                                   \
    const struct macho_command *c = (const void *)((image)->file + sizeof(struct macho_header)); \
    (const uint8_t *)c < (image)->file + sizeof(struct macho_header) +                           \
                             ((const struct macho_header *)(image)->file)->command_bytes;        \
    c = (const void *)((const uint8_t *)c + c->bytes)

static bool segment_is_memory(const struct macho_segment *s) {
    return strcmp(s->name, "__PAGEZERO") != 0;
}

static void reserve(struct image *image) {
    uint64_t lo = UINT64_MAX, hi = 0;
    for (EACH_COMMAND(image, c)) {
        const struct macho_segment *s = (const void *)c;
        if (c->kind == LC_SEGMENT_64 && segment_is_memory(s)) {
            lo = s->address < lo ? s->address : lo;
            hi = s->address + s->size > hi ? s->address + s->size : hi;
        }
    }
    image->span = (hi - lo + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    uint8_t *block =
        mmap(NULL, image->span + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        err(2, "%s: memory", image->path);
    }
    image->base = (uint8_t *)(((uintptr_t)block + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    image->slide = (uint64_t)image->base - lo;
}

static void section_add(struct image *image, const struct macho_section *s) {
    uint64_t at = s->address + image->slide;
    unsigned type = s->flags & 0xff;
    if (type == S_MOD_INIT_FUNC_POINTERS) {
        image->init = at;
        image->init_count = s->size / 8;
    } else if (!strncmp(s->name, "__interpose", sizeof s->name)) {
        image->interpose = at;
        image->interpose_bytes = s->size;
    } else if (type == S_THREAD_LOCAL_REGULAR || type == S_THREAD_LOCAL_ZEROFILL) {
        image->tls_lo = image->tls_lo ? image->tls_lo : at;
        image->tls_hi = at + s->size;
        if (type == S_THREAD_LOCAL_REGULAR) {
            image->tls_template_bytes = at + s->size - image->tls_lo;
        }
    }
}

static void segment_add(struct image *image, const struct macho_segment *s) {
    if (image->segments == IMAGE_SEGMENTS) {
        errx(2, "%s: too many segments", image->path);
    }
    image->segment[image->segments++] = s->address + image->slide;
    if (!segment_is_memory(s)) {
        return;
    }
    memcpy((void *)(s->address + image->slide), image->file + s->file_offset, s->file_size);
    if (!strcmp(s->name, "__TEXT")) {
        image->text_lo = s->address + image->slide;
        image->text_hi = image->text_lo + s->size;
    }
    const struct macho_section *section = (const void *)(s + 1);
    for (uint32_t i = 0; i < s->sections; i++) {
        section_add(image, &section[i]);
    }
}

void image_map(struct image *image, const char *path) {
    memset(image, 0, sizeof *image);
    file_open(image, path);
    reserve(image);
    for (EACH_COMMAND(image, c)) {
        if (c->kind == LC_SEGMENT_64) {
            segment_add(image, (const void *)c);
        } else if (c->kind == LC_SYMTAB) {
            const struct macho_symtab *t = (const void *)c;
            image->symbols = (const void *)(image->file + t->symbols);
            image->symbol_count = t->count;
            image->strings = (const char *)image->file + t->strings;
        } else if (c->kind == LC_DYLD_INFO || c->kind == (uint32_t)LC_DYLD_INFO_ONLY) {
            image->info = (const void *)c;
        } else if (c->kind == (uint32_t)LC_DYLD_CHAINED_FIXUPS) {
            image->chained = (const void *)c;
        } else if ((c->kind == LC_LOAD_DYLIB || c->kind == (uint32_t)LC_LOAD_WEAK_DYLIB) &&
                   image->need_count < IMAGE_NEEDS) {
            const struct macho_dylib *d = (const void *)c;
            image->needs[image->need_count++] = (const char *)d + d->name;
        } else if (c->kind == LC_ID_DYLIB) {
            const char *id = (const char *)c + ((const struct macho_dylib *)(const void *)c)->name;
            image->shown = strncmp(id, "/usr/lib/", 9) == 0 ? id : NULL;
        } else if (c->kind == (uint32_t)LC_MAIN) {
            image->entry = (uint64_t)image->base + ((const struct macho_entry *)(const void *)c)->offset;
        }
    }
    image->tls_key = image->tls_lo ? next_tls_key++ : 0;
}

void image_protect(const struct image *image) {
    for (EACH_COMMAND(image, c)) {
        const struct macho_segment *s = (const void *)c;
        if (c->kind == LC_SEGMENT_64 && segment_is_memory(s) && s->size > 0) {
            uint64_t size = (s->size + 4095) & ~4095ull;
            bool constant = (s->flags & 0x10) != 0; /* SG_READ_ONLY: written by fixups only */
            int protection = (int)(s->protection & (constant ? ~2u : ~0u)); /* the bits are those of mmap */
            if (mprotect((void *)(s->address + image->slide), size, protection) != 0) {
                err(2, "%s: %s", image->path, s->name);
            }
        }
    }
    __builtin___clear_cache((char *)image->text_lo, (char *)image->text_hi);
}

void image_unmap(struct image *image) {
    munmap(image->base, image->span);
    munmap((void *)image->file, image->file_bytes);
    memset(image, 0, sizeof *image);
}

uint64_t image_symbol(const struct image *image, const char *name) {
    for (uint32_t i = 0; i < image->symbol_count; i++) {
        const struct macho_symbol *s = &image->symbols[i];
        if ((s->type & 0xef) == 0x0f && !strcmp(image->strings + s->name, name)) { /* defined, external */
            return s->value + image->slide;
        }
    }
    return 0;
}

const char *image_name_at(const struct image *image, uint64_t pc, uint64_t *offset) {
    const char *best = "?";
    uint64_t at = image->text_lo;
    for (uint32_t i = 0; i < image->symbol_count; i++) {
        const struct macho_symbol *s = &image->symbols[i];
        uint64_t value = s->value + image->slide;
        if ((s->type & 0x0e) == 0x0e && !(s->type & 0xe0) && value <= pc && value >= at) {
            at = value;
            best = image->strings + s->name;
        }
    }
    *offset = pc - at;
    return best;
}
