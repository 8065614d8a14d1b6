/* SPDX-License-Identifier: MIT
 *
 * The readers of Mach-O images, by memory faults and by the number of reads. Each input is read as a file, as
 * an image in memory, as a shared cache, and as the memory of a process with the loader's list of images.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/macho/exports.h"
#include "image/macho/function_starts.h"
#include "image/macho/image_list.h"
#include "image/macho/insertable.h"
#include "image/macho/macho_file.h"
#include "image/macho/shared_cache.h"
#include "image/macho/symbols.h"

#define AT UINT64_C(0x7ff000000000) /* the input's address as memory */
#define READS_MAX 4000000u          /* for one input; an input of 64 KiB needs far fewer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct input {
    const uint8_t *bytes;
    size_t count;
    uint64_t at; /* address of the first byte */
};
static uint64_t reads;

static int read_input(void *ctx, uint64_t addr, void *dst, size_t n) {
    const struct input *in = ctx;
    if (++reads > READS_MAX) {
        fprintf(stderr, "macho: more than %u reads\n", READS_MAX);
        abort();
    }
    if (addr < in->at || addr - in->at > in->count || n > in->count - (addr - in->at)) {
        return -1;
    }
    memcpy(dst, in->bytes + (addr - in->at), n);
    return 0;
}

/* A value that the compiler must compute: memory faults of unused results would not be seen. */
static volatile uint64_t sink;

static void require(bool good, const char *what) {
    if (!good) {
        fprintf(stderr, "macho: %s\n", what);
        abort();
    }
}

static void read_functions(const struct hd_memory *memory, const struct hd_macho_tables *t) {
    struct hd_function_starts s, search;
    uint64_t start = 0, end = 0, last = t->text;
    hd_function_starts_init(&s, t);
    hd_function_starts_init(&search, t);
    for (unsigned i = 0; i < 4096 && hd_function_starts_next(&s, memory); i++) {
        require(s.start > last && s.start < t->text + t->text_bytes, "a function start out of order");
        require(hd_function_starts_find(&search, memory, s.start, &start, &end) && start == s.start,
                "a function start that is not found");
        require(end > start, "a function without an end");
        last = s.start;
        sink += hd_macho_is_stub(t, s.start);
    }
    hd_function_starts_init(&search, t);
    sink += hd_function_starts_find(&search, memory, UINT64_MAX, &start, &end);
}

static void read_names(const struct hd_memory *memory, const struct hd_macho_tables *t) {
    static const char *const names[] = {"main", "exported", "a", "_ZN3fooEv", "read"};
    struct hd_macho_found found;
    char name[64];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sink += hd_macho_export(memory, t, names[i]);
        sink += hd_macho_symbol_named(memory, t, names[i], &found);
    }
    if (hd_macho_symbol_at(memory, t, t->text + t->text_bytes / 2, &found)) {
        require(found.address <= t->text + t->text_bytes / 2, "a symbol above its address");
        if (hd_macho_symbol_name(memory, t, found.name, name, sizeof name) == 0) {
            require(strlen(name) < sizeof name, "a name without an end");
        }
    }
}

static void read_tables(const struct hd_memory *memory, uint64_t header, struct hd_macho_tables *t) {
    int rc = hd_macho_tables_read(memory, header, t);
    require((rc == 0) || t->fault != HD_MACHO_FINE, "a failure without a name");
    require(t->fault < HD_MACHO_FAULTS && hd_macho_fault_text(t->fault)[0] != '\0', "a fault without a text");
    require(t->text + t->text_bytes >= t->text, "a __TEXT that wraps around");
    if (rc == 0) {
        read_functions(memory, t);
        read_names(memory, t);
    }
}

static void as_program(struct input *in) {
    struct hd_memory memory = {.read = read_input, .ctx = in};
    struct hd_insert_facts facts;
    for (int i = 0; i < 2; i++) {
        uint32_t cpu = i == 0 ? HD_MACHO_CPU_ARM64 : HD_MACHO_CPU_X86_64;
        enum hd_insertable how = hd_macho_insertable(&memory, in->count, cpu, &facts);
        require(how != HD_INSERT_NO_PROGRAM || facts.fault != HD_MACHO_FINE, "a refusal without a name");
        require(how != HD_INSERT_FINE || (facts.slice.bytes <= in->count && !facts.restricted),
                "a bad program");
    }
}

static void as_file(struct input *in) {
    struct hd_memory memory = {.read = read_input, .ctx = in};
    struct hd_macho_slices slices;
    static struct hd_macho_file file;
    if (hd_macho_slices_read(&memory, in->count, &slices) != 0) {
        require(slices.fault != HD_MACHO_FINE, "a file's failure without a name");
        return;
    }
    for (uint32_t i = 0; i < slices.count; i++) {
        if (hd_macho_file_init(&file, &memory, &slices.slice[i]) == 0) {
            read_tables(&file.memory, file.header, &file.tables);
        }
    }
}

static void as_cache(struct input *in) {
    struct hd_memory memory = {.read = read_input, .ctx = in};
    static struct hd_shared_cache cache;
    struct hd_shared_cache_image image;
    struct hd_macho_tables tables;
    if (hd_shared_cache_init(&cache, &memory, in->count) != 0) {
        require(cache.fault != HD_MACHO_FINE, "a cache's failure without a name");
        return;
    }
    for (uint32_t i = 0; i < 8 && hd_shared_cache_image(&cache, i, &image); i++) {
        read_tables(&cache.memory, image.header, &tables);
        sink += hd_shared_cache_at(&cache, image.header + 16, &image);
    }
    sink += hd_shared_cache_named(&cache, "/usr/lib/libobjc.A.dylib", &image);
}

static void as_process(struct input *in) {
    struct hd_memory memory = {.read = read_input, .ctx = in};
    struct hd_image_list list;
    struct hd_image_entry entry;
    struct hd_macho_tables tables;
    if (hd_image_list_read(&list, &memory, in->at) != 0) {
        return;
    }
    for (uint32_t i = 0; i <= list.count && i < 8; i++) {
        if (hd_image_list_entry(&list, &memory, i, &entry)) {
            read_tables(&memory, entry.header, &tables);
            sink += hd_image_list_at(&list, &memory, entry.header + 16, &entry);
        }
    }
    require(hd_image_list_is_same(&list, &memory), "a list that differs from itself");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct hd_macho_tables tables;
    struct input file = {data, bytes, 0}, image = {data, bytes, AT};
    struct hd_memory memory = {.read = read_input, .ctx = &image};
    reads = 0;
    as_file(&file);
    as_program(&file);
    as_cache(&file);
    read_tables(&memory, AT, &tables);
    as_process(&image);
    return 0;
}
