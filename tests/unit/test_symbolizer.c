/* SPDX-License-Identifier: MIT
 *
 * Symbols of this very program, of the C library, and of files that are damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "chance.h"
#include "symbolizer/symbolizer.h"

static struct symbolizer *symbolizer;
static struct symbol found[SYMBOLS_MAX];
static const char *reason;

/* ---- this process's modules --------------------------------------------------------------- */

struct place {
    const char *module; /* base name; NULL: the program */
    char path[512], build_id[65];
    uint64_t bias;
    bool found;
};

static void read_build_id(const char *at, const char *end, char text[65]) {
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        const char *name = at + sizeof note, *bits = name + ((note.n_namesz + 3) & ~3u);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 32) {
            for (unsigned i = 0; i < note.n_descsz; i++) {
                snprintf(text + 2 * i, 3, "%02x", (unsigned char)bits[i]);
            }
        }
        at = bits + ((note.n_descsz + 3) & ~3u);
    }
}

static int find_module(struct dl_phdr_info *info, size_t size, void *ctx) {
    struct place *p = ctx;
    (void)size;
    if (p->module == NULL ? info->dlpi_name[0] != 0 : strstr(info->dlpi_name, p->module) == NULL) {
        return 0;
    }
    if (p->module == NULL) {
        ssize_t n = readlink("/proc/self/exe", p->path, sizeof p->path - 1);
        p->path[n > 0 ? n : 0] = 0;
    } else {
        snprintf(p->path, sizeof p->path, "%s", info->dlpi_name);
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + h->p_vaddr);
        if (h->p_type == PT_NOTE) {
            read_build_id(at, at + h->p_memsz, p->build_id);
        }
    }
    p->bias = info->dlpi_addr;
    p->found = true;
    return 1;
}

static struct place place_of(const char *module) {
    struct place p = {.module = module};
    dl_iterate_phdr(find_module, &p);
    assert_true(p.found);
    return p;
}

static int resolve_in(const struct place *p, uintptr_t address, bool exact) {
    const struct symbol_query q = {
        .path = p->path, .build_id = p->build_id, .offset = address - p->bias, .exact = exact};
    return symbolizer_resolve(symbolizer, &q, found, &reason);
}

/* ---- functions with known places ---------------------------------------------------------- */

static void *inner_place;

__attribute__((noinline)) static void note_return_address(void) {
    inner_place = __builtin_return_address(0);
}

static inline __attribute__((always_inline)) void inlined_function(void) {
    note_return_address(); /* the line of the inlined call */
    __asm__ volatile("");
}

__attribute__((noinline)) static void outer_function(void) {
    inlined_function(); /* the line that it was inlined at */
    __asm__ volatile("");
}

/* As Rust's newer mangling has it, and as it has none. */
void tick(void) __asm__("_RNvC6_123foo4tick");
__attribute__((noinline)) void tick(void) {
    __asm__ volatile("");
}
void tock(void) __asm__("_RNope");
__attribute__((noinline)) void tock(void) {
    __asm__ volatile("");
}

/* As an instance of C++'s library, and what Rust's compiler makes for a panic. */
void tip(void) __asm__("_ZN9__gnu_cxx3tipEv");
__attribute__((weak)) void tip(void) {
    __asm__ volatile("");
}
void toss(void) __asm__("_RNvCs6xxl1lAjzDf_7___rustc4toss");
__attribute__((noinline)) void toss(void) {
    __asm__ volatile("");
}

/* ---- tests -------------------------------------------------------------------------------- */

static void a_place_has_its_inlined_functions_innermost_first(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    outer_function();
    assert_int_equal(resolve_in(&p, (uintptr_t)inner_place, false), 2);
    assert_string_equal(found[0].function, "inlined_function");
    assert_true(found[0].inlined);
    assert_non_null(strstr(found[0].file, "test_symbolizer.c"));
    assert_string_equal(found[1].function, "outer_function");
    assert_false(found[1].inlined);
    assert_in_range(found[1].line, found[0].line + 1, found[0].line + 10);
}

static void an_exact_place_is_not_moved_and_a_return_address_is(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    uintptr_t first = (uintptr_t)&outer_function;
    assert_true(resolve_in(&p, first, true) >= 1);
    assert_string_equal(found[0].function, "outer_function");
    int n = resolve_in(&p, first, false); /* the byte before: whatever it is, not this function */
    assert_true(n == 0 || found[n - 1].function == NULL ||
                strcmp(found[n - 1].function, "outer_function") != 0);
}

static void a_readable_name_is_better_than_a_mangled_one_that_stays_so(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    tick();
    assert_int_equal(resolve_in(&p, (uintptr_t)&tick, true), 1);
    assert_string_equal(found[0].function, "123foo::tick");
    tock();
    assert_int_equal(resolve_in(&p, (uintptr_t)&tock, true), 1);
    assert_string_equal(found[0].function, "tock");
}

static void a_demangled_name_that_begins_with_underscores_stays(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    assert_int_equal(resolve_in(&p, (uintptr_t)&tip, true), 1);
    assert_string_equal(found[0].function, "__gnu_cxx::tip()");
    assert_int_equal(resolve_in(&p, (uintptr_t)&toss, true), 1);
    assert_string_equal(found[0].function, "__rustc::toss");
}

/* The C library's own, not that of a sanitizer before it. */
static uintptr_t c_function(const char *name) {
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    assert_non_null(library);
    uintptr_t at = (uintptr_t)dlsym(library, name);
    dlclose(library);
    assert_true(at != 0);
    return at;
}

static void the_c_library_is_named_as_people_know_it(void **state) {
    (void)state;
    struct place p = place_of("libc.so.6");
    assert_true(resolve_in(&p, c_function("poll") + 4, true) >= 1);
    assert_string_equal(found[0].function, "poll");
    assert_true(resolve_in(&p, c_function("read") + 4, true) >= 1);
    assert_string_equal(found[0].function, "read");
}

static void without_debug_files_the_symbol_table_names_the_function(void **state) {
    (void)state;
    struct symbolizer *normal = symbolizer;
    symbolizer = symbolizer_create(&(struct symbolizer_options){.debug_path = "/nonexistent"});
    struct place p = place_of("libc.so.6");
    assert_int_equal(resolve_in(&p, c_function("poll") + 4, true), 1);
    assert_string_equal(found[0].function, "poll");
    assert_null(found[0].file);
    symbolizer_destroy(symbolizer);
    symbolizer = normal;
}

static void the_kernels_own_module_has_names(void **state) {
    (void)state;
    struct place p = {.path = "linux-vdso.so.1", .bias = getauxval(AT_SYSINFO_EHDR)};
    if (p.bias == 0) {
        skip();
        return;
    }
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)p.bias;
    const ElfW(Phdr) *h = (const ElfW(Phdr) *)(p.bias + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++) {
        if (h[i].p_type == PT_NOTE) {
            read_build_id((const char *)p.bias + h[i].p_vaddr,
                          (const char *)p.bias + h[i].p_vaddr + h[i].p_memsz, p.build_id);
        }
    }
    int named = 0;
    for (uint64_t offset = 0x400; offset < 0x1800; offset += 16) {
        named += resolve_in(&p, p.bias + offset, true) > 0;
    }
    assert_null(reason);
    assert_true(named > 0);
}

static void another_build_has_no_symbols(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    p.build_id[0] = p.build_id[0] == '0' ? '1' : '0';
    assert_int_equal(resolve_in(&p, (uintptr_t)&outer_function, true), 0);
    assert_non_null(strstr(reason, "build-id differs"));
    struct symbol_query q = {.path = p.path, .offset = 4};
    assert_int_equal(symbolizer_resolve(symbolizer, &q, found, &reason), 0);
    assert_non_null(strstr(reason, "no build-id"));
    p = place_of(NULL);
    assert_true(resolve_in(&p, (uintptr_t)&outer_function, true) > 0);
    assert_null(reason);
}

static char *read_whole(const char *path, size_t *bytes) {
    struct stat st = {0};
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    char *text = malloc((size_t)st.st_size);
    assert_non_null(text);
    assert_int_equal(read(fd, text, (size_t)st.st_size), st.st_size);
    close(fd);
    *bytes = (size_t)st.st_size;
    return text;
}

/* The name of its build-id's note is another one's. */
static void lose_build_id(char *bytes, size_t size) {
    for (size_t i = 0; i + 4 <= size; i++) {
        uint32_t type;
        memcpy(&type, bytes + (i >= 4 ? i - 4 : 0), sizeof type);
        if (memcmp(bytes + i, "GNU", 4) == 0 && type == NT_GNU_BUILD_ID) {
            bytes[i] = 'X';
        }
    }
}

static void without_a_build_id_the_file_must_be_older(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    char path[] = "/tmp/hangdog-unnamed-XXXXXX";
    size_t size;
    char *whole = read_whole(p.path, &size);
    struct stat st = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    lose_build_id(whole, size);
    assert_int_equal(write(fd, whole, size), (ssize_t)size);
    const struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}}; /* as a package's files are dated */
    assert_int_equal(futimens(fd, long_ago), 0);
    assert_int_equal(fstat(fd, &st), 0);
    struct symbol_query q = {
        .path = path, .offset = (uintptr_t)&outer_function - p.bias, .exact = true, .ran_s = st.st_ctime};
    assert_true(symbolizer_resolve(symbolizer, &q, found, &reason) > 0);
    assert_string_equal(found[0].function, "outer_function");
    q.ran_s = st.st_ctime - 1; /* another report, in the same list */
    assert_int_equal(symbolizer_resolve(symbolizer, &q, found, &reason), 0);
    assert_non_null(strstr(reason, "was changed since"));
    close(fd);
    unlink(path);
    free(whole);
}

static void what_is_no_module_says_why(void **state) {
    (void)state;
    static const char *const paths[] = {"",
                                        "relative",
                                        "/none",
                                        "/",
                                        "/dev/zero",
                                        "/dev/full",
                                        "/proc/self/mem",
                                        "/etc/passwd",
                                        "/proc/self/maps"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct symbol_query q = {.path = paths[i], .build_id = "00", .offset = 4};
        assert_int_equal(symbolizer_resolve(symbolizer, &q, found, &reason), 0);
        assert_non_null(reason);
    }
}

static void a_place_outside_of_every_function_has_no_name(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    static const uint64_t offsets[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, 1ull << 40};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        assert_int_equal(resolve_in(&p, p.bias + offsets[i], i % 2), 0);
    }
}

/* ---- damaged files ------------------------------------------------------------------------ */

/* Damages the file's debug sections, or anything, or cuts it; never its build-id, or it would not be read at
 * all. */
static size_t damage(char *bytes, size_t size) {
    const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)bytes;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(const void *)(bytes + head->e_shoff);
    unsigned count = head->e_shnum, hits = 1u << (next_random() % 9);
    for (unsigned i = 0; i < hits; i++) {
        ElfW(Shdr) s = sections[next_random() % count];
        if (s.sh_type == SHT_NOTE || s.sh_type == SHT_NOBITS || s.sh_size == 0 ||
            s.sh_offset + s.sh_size > head->e_shoff) {
            continue;
        }
        static const char values[] = {0, 1, 0x7f, (char)0x80, (char)0xff};
        bytes[s.sh_offset + next_random() % s.sh_size] =
            next_random() % 2 ? (char)next_random() : values[next_random() % sizeof values];
    }
    if (next_random() % 8 == 0) { /* and the section headers themselves */
        bytes[head->e_shoff + next_random() % (count * sizeof *sections)] ^= (char)next_random();
    }
    return next_random() % 8 == 0 ? next_random() % size : size;
}

/* In a process of its own: what is asked is that it ends by itself. */
static void resolve_damaged(const char *path, const char *build_id) {
    struct symbolizer *s = symbolizer_create(&(struct symbolizer_options){.debug_path = "/nonexistent"});
    for (uint64_t offset = 0; offset < 0x8000; offset += 0x155) {
        struct symbol_query q = {.path = path, .build_id = build_id, .offset = offset};
        int n = symbolizer_resolve(s, &q, found, &reason);
        if (n < 0 || n > SYMBOLS_MAX) {
            _exit(1);
        }
    }
    symbolizer_destroy(s);
}

static void a_damaged_file_gives_an_error_never_a_crash(void **state) {
    (void)state;
    struct place p = place_of(NULL);
    char path[] = "/tmp/hangdog-damaged-XXXXXX";
    size_t size;
    char *whole = read_whole(p.path, &size), *copy = malloc(size);
    int fd = mkstemp(path);
    assert_non_null(copy);
    assert_true(fd >= 0);
    for (uint64_t round = 1; round <= 60; round++) {
        seed = round * 0x9e3779b97f4a7c15;
        for (size_t i = 0; i < size; i++) {
            copy[i] = whole[i];
        }
        size_t kept = damage(copy, size);
        assert_int_equal(pwrite(fd, copy, kept, 0), (ssize_t)kept);
        assert_int_equal(ftruncate(fd, (off_t)kept), 0);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            resolve_damaged(path, p.build_id);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0) {
            print_error("round %d: status %#x\n", (int)round, (unsigned)status);
        }
        assert_int_equal(status, 0);
    }
    close(fd);
    unlink(path);
    free(copy);
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_has_its_inlined_functions_innermost_first),
        cmocka_unit_test(an_exact_place_is_not_moved_and_a_return_address_is),
        cmocka_unit_test(a_readable_name_is_better_than_a_mangled_one_that_stays_so),
        cmocka_unit_test(a_demangled_name_that_begins_with_underscores_stays),
        cmocka_unit_test(the_c_library_is_named_as_people_know_it),
        cmocka_unit_test(without_debug_files_the_symbol_table_names_the_function),
        cmocka_unit_test(the_kernels_own_module_has_names),
        cmocka_unit_test(another_build_has_no_symbols),
        cmocka_unit_test(without_a_build_id_the_file_must_be_older),
        cmocka_unit_test(what_is_no_module_says_why),
        cmocka_unit_test(a_place_outside_of_every_function_has_no_name),
        cmocka_unit_test(a_damaged_file_gives_an_error_never_a_crash),
    };
    symbolizer = symbolizer_create(&(struct symbolizer_options){0});
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    symbolizer_destroy(symbolizer);
    return failed;
}
