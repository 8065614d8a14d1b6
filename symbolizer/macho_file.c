/* SPDX-License-Identifier: MIT */
#include "symbolizer/macho_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (INT64_C(4) << 30)

bool macho_file_is(int fd) {
    static const uint8_t magic[][4] = {
        {0xcf, 0xfa, 0xed, 0xfe}, {0xca, 0xfe, 0xba, 0xbe}, {0xca, 0xfe, 0xba, 0xbf}};
    uint8_t first[4];
    bool is = false;
    for (size_t i = 0; pread(fd, first, sizeof first, 0) == sizeof first && i < sizeof magic / sizeof *magic;
         i++) {
        is |= memcmp(first, magic[i], sizeof first) == 0;
    }
    return is;
}

static void print_uuid(const struct macho_slice *slice, char text[MACHO_UUID_TEXT]) {
    for (size_t i = 0; i < sizeof slice->id; i++) {
        snprintf(text + 2 * i, 3, "%02x", slice->id[i]);
    }
}

static bool has_uuid(const struct macho_slice *slice, const char *uuid) {
    char text[MACHO_UUID_TEXT];
    print_uuid(slice, text);
    return uuid == NULL || (slice->has_id && strcmp(text, uuid) == 0);
}

static const char *pick(struct macho_bytes file, const char *uuid, struct elf_head *head) {
    struct macho_slice slices[MACHO_SLICES_MAX];
    unsigned n = macho_slices(file, slices);
    for (unsigned i = 0; i < n; i++) {
        if (has_uuid(&slices[i], uuid)) {
            return macho_slice_read(file, &slices[i], head);
        }
    }
    return n == 0 ? "its load commands are broken" : "its file is another one now: the UUID differs";
}

/* Maps the head and, behind it, the file. */
static const char *join(struct macho_file *out, int fd, size_t file_bytes, const struct elf_head *head) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), head_bytes = elf_head_bytes(head, page);
    size_t bytes = head_bytes + file_bytes;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        return "out of memory";
    }
    *out = (struct macho_file){at, bytes};
    if (mmap(at + head_bytes, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
        MAP_FAILED) {
        macho_file_unmap(out);
        return "its file cannot be mapped";
    }
    elf_head_write(head, page, (uint8_t *)at);
    return NULL;
}

/* Maps the whole file. False: its size is 0 or too large, or there is no memory. */
static bool map_bytes(int fd, struct macho_bytes *out) {
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size <= 0 || st.st_size > FILE_BYTES_MAX) {
        return false;
    }
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    *out = (struct macho_bytes){at, (size_t)st.st_size};
    return at != MAP_FAILED;
}

static void unmap_bytes(struct macho_bytes file) {
    munmap((void *)(uintptr_t)file.at, file.n);
}

static bool has_names(struct macho_bytes file, const struct macho_slice *slice) {
    struct elf_head *head = calloc(1, sizeof *head);
    bool has = head != NULL && macho_slice_read(file, slice, head) == NULL && macho_slice_has_names(head);
    if (head != NULL) {
        free(head->symbol);
    }
    free(head);
    return has;
}

unsigned macho_file_programs(int fd, struct macho_program out[MACHO_SLICES_MAX]) {
    struct macho_slice slices[MACHO_SLICES_MAX];
    struct macho_bytes file;
    if (!macho_file_is(fd) || !map_bytes(fd, &file)) {
        return 0;
    }
    unsigned n = macho_slices(file, slices);
    for (unsigned i = 0; i < n; i++) {
        out[i] = (struct macho_program){
            .offset = slices[i].offset, .bytes = slices[i].bytes, .has_names = has_names(file, &slices[i])};
        if (slices[i].has_id) {
            print_uuid(&slices[i], out[i].uuid);
        }
    }
    unmap_bytes(file);
    return n;
}

const char *macho_file_map(struct macho_file *out, int fd, const char *uuid) {
    struct macho_bytes file;
    *out = (struct macho_file){0};
    if (!map_bytes(fd, &file)) {
        return "its file cannot be mapped";
    }
    struct elf_head *head = calloc(1, sizeof *head);
    const char *fault = head == NULL ? "out of memory" : pick(file, uuid, head);
    if (fault == NULL) {
        fault = join(out, fd, file.n, head);
    }
    unmap_bytes(file);
    if (head != NULL) {
        free(head->symbol);
    }
    free(head);
    return fault;
}

void macho_file_unmap(struct macho_file *m) {
    if (m->elf != NULL) {
        munmap(m->elf, m->bytes);
    }
    *m = (struct macho_file){0};
}
