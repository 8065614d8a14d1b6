/* SPDX-License-Identifier: MIT
 *
 * Prints what src/image/macho finds in a Mach-O file, one fact a line, for the comparison with other readers.
 * macho-dump FILE [NAME...]: each NAME is looked up among the exported names and the symbols.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "image/macho/exports.h"
#include "image/macho/function_starts.h"
#include "image/macho/macho_file.h"
#include "image/macho/symbols.h"

static void print_tables(const struct hd_macho_file *f) {
    const struct hd_macho_tables *t = &f->tables;
    printf("uuid ");
    for (size_t i = 0; i < sizeof t->uuid && t->has_uuid; i++) {
        printf("%02X", t->uuid[i]);
    }
    printf("%s\n", t->has_uuid ? "" : "none");
    printf("text %lx %lx\n", t->text, t->text_bytes);
    printf("unwind_info %lx %lx\n", t->unwind_info, t->unwind_info_bytes);
    printf("eh_frame %lx %lx\n", t->eh_frame, t->eh_frame_bytes);
    printf("symbols %lu\n", t->symbol_count);
    printf("platform %u %u.%u %u.%u\n", t->platform, t->minimum >> 16, t->minimum >> 8 & 255, t->sdk >> 16,
           t->sdk >> 8 & 255);
    for (uint32_t i = 0; i < t->stub_ranges; i++) {
        printf("stubs %lx %lx\n", t->stubs[i].lo, t->stubs[i].hi - t->stubs[i].lo);
    }
    char name[256] = "";
    for (uint32_t i = 0; i < t->name_bytes && i < sizeof name - 1; i++) {
        (void)hd_memory_read(&f->memory, t->name + i, &name[i], 1);
    }
    printf("name %s\n", name);
    printf("fault %s\n", hd_macho_fault_text(t->fault));
}

/* Each start, what a search of the address before the next start finds, and the symbol there. */
static bool print_starts(const struct hd_macho_file *f) {
    struct hd_function_starts s, search;
    hd_function_starts_init(&s, &f->tables);
    hd_function_starts_init(&search, &f->tables);
    uint64_t previous = 0, start, end;
    while (hd_function_starts_next(&s, &f->memory)) {
        printf("start %lx\n", s.start);
        if (previous != 0 && (!hd_function_starts_find(&search, &f->memory, s.start - 1, &start, &end) ||
                              start != previous || end != s.start)) {
            printf("found %lx to %lx\n", start, end);
            return false;
        }
        previous = s.start;
    }
    return true;
}

/* Of each `step`th function: the whole table is read for each. */
static void print_symbols(const struct hd_macho_file *f) {
    struct hd_function_starts s;
    hd_function_starts_init(&s, &f->tables);
    uint64_t step = f->tables.symbol_count / 4096 + 1;
    for (uint64_t i = 0; hd_function_starts_next(&s, &f->memory); i++) {
        struct hd_macho_found found;
        if (i % step == 0 && hd_macho_symbol_at(&f->memory, &f->tables, s.start + 1, &found)) {
            char name[4096];
            hd_macho_symbol_name(&f->memory, &f->tables, found.name, name, sizeof name);
            printf("symbol %lx %lx %s\n", s.start + 1, found.address, name);
        }
    }
}

static void look_up(const struct hd_macho_file *f, const char *name) {
    struct hd_macho_found found = {.address = 0};
    uint64_t exported = hd_macho_export(&f->memory, &f->tables, name + 1);
    hd_macho_symbol_named(&f->memory, &f->tables, name, &found);
    printf("named %lx %lx %s\n", exported, found.address, name);
}

int main(int argc, char **argv) {
    struct stat st;
    int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror("macho-dump");
        return 2;
    }
    struct hd_macho_bytes bytes = {mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0),
                                   (uint64_t)st.st_size};
    struct hd_memory memory = hd_macho_bytes_memory(&bytes);
    struct hd_macho_slices slices = {.fault = HD_MACHO_UNREADABLE};
    if (bytes.bytes == MAP_FAILED || hd_macho_slices_read(&memory, bytes.count, &slices) != 0) {
        printf("fault %s\n", hd_macho_fault_text(slices.fault));
        return 1;
    }
    for (uint32_t i = 0; i < slices.count; i++) {
        static struct hd_macho_file f;
        printf("slice %x %lx %lx\n", slices.slice[i].cpu, slices.slice[i].offset, slices.slice[i].bytes);
        if (hd_macho_file_init(&f, &memory, &slices.slice[i]) != 0) {
            printf("fault %s\n", hd_macho_fault_text(f.fault));
            continue;
        }
        print_tables(&f);
        if (!print_starts(&f)) {
            return 1;
        }
        if (argc == 2) {
            print_symbols(&f);
        }
        for (int k = 2; k < argc; k++) {
            look_up(&f, argv[k]);
        }
    }
    return 0;
}
