/* SPDX-License-Identifier: MIT
 *
 * The modules of this process as image sees them, against the loader's own word; and a table that is full or
 * is lied to.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "image/elf/elf.h"
#include "image/linux/loader_list.h"
#include "image/modules.h"

static struct hd_modules m;

static int set_up(void **state) {
    (void)state;
    hd_modules_init_live(&m, open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
    return 0;
}

static uint64_t address_of(const char *name) {
    return (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name);
}

struct expected {
    unsigned seen;
};

/* Every segment of every object that the loader lists is found with the same bias, path, build-id and unwind
 * table. */
static int check_object(struct dl_phdr_info *info, size_t size, void *arg) {
    struct expected *e = arg;
    char exe[4096] = "";
    (void)size;
    int index = -1;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD) {
            index = hd_modules_at(&m, info->dlpi_addr + p->p_vaddr);
            assert_true(index >= 0);
            assert_int_equal(index, hd_modules_at(&m, info->dlpi_addr + p->p_vaddr + p->p_memsz - 1));
        }
    }
    assert_true(index >= 0);
    const struct hd_module *module = &m.module[index];
    assert_true(module->bias == info->dlpi_addr);
    bool main_program = info->dlpi_name[0] == 0;
    assert_int_equal(module->main_program, main_program);
    if (main_program) {
        assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    }
    assert_string_equal(hd_module_path(&m, (uint32_t)index), main_program ? exe : info->dlpi_name);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_GNU_EH_FRAME) {
            assert_true(module->eh_frame_hdr == info->dlpi_addr + p->p_vaddr);
        }
        if (p->p_type != PT_NOTE) {
            continue;
        }
        const uint8_t *note = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);
        if (memcmp(note, "\4\0\0\0\x14\0\0\0\3\0\0\0GNU", 16) == 0) {
            assert_int_equal(module->build_id_bytes, 20);
            assert_memory_equal(module->build_id, note + 16, 20);
        }
    }
    e->seen++;
    return 0;
}

static void modules_are_what_the_loader_says(void **state) {
    struct expected e = {0};
    (void)state;
    dl_iterate_phdr(check_object, &e);
    assert_true(e.seen >= 3);
    assert_int_equal(m.count, e.seen);
    assert_true(hd_modules_still_valid(&m, true));
    assert_int_equal(m.lost, 0);
}

/* The same by the list that an older C library has. */
static int check_in_list(struct dl_phdr_info *info, size_t size, void *arg) {
    struct expected *e = arg;
    struct hd_loaded_object listed = {0};
    struct hd_module found = {0};
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uint64_t pc = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD) {
            continue;
        }
        assert_int_equal(0, m.find(&m, pc, &found, NULL, 0));
        assert_int_equal(
            0, hd_loader_list_find(&m.memory, getauxval(AT_PHDR), getauxval(AT_PHNUM), pc, &listed));
        assert_true(listed.lo == found.lo && listed.hi == found.hi);
        assert_true(listed.link_map == found.handle && listed.eh_frame_hdr == found.eh_frame_hdr);
        e->seen++;
    }
    return 0;
}

static void the_loaders_list_has_the_same_objects(void **state) {
    static const uint64_t nowhere[] = {0, 4096, UINT64_MAX, UINT64_C(0x800000000000)};
    uint64_t headers = getauxval(AT_PHDR), count = getauxval(AT_PHNUM);
    struct expected e = {0};
    struct hd_loaded_object out;
    (void)state;
    dl_iterate_phdr(check_in_list, &e);
    assert_true(e.seen >= 6); /* the program, the loader and libc, each of two parts or more */
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        assert_int_equal(-ENOENT, hd_loader_list_find(&m.memory, headers, count, nowhere[i], &out));
    }
    assert_int_equal(-ENOENT, hd_loader_list_find(&m.memory, headers, count, (uint64_t)(uintptr_t)&e, &out));
    assert_int_equal(-EFAULT, hd_loader_list_find(&m.memory, 4096, count, 0, &out));
}

static void what_the_loader_does_not_know_is_no_module(void **state) {
    static const uint64_t nowhere[] = {0, 1, 4096, UINT64_MAX, UINT64_C(0x800000000000)};
    int local;
    (void)state;
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        assert_int_equal(hd_modules_at(&m, nowhere[i]), -ENOENT);
    }
    assert_int_equal(hd_modules_at(&m, (uint64_t)(uintptr_t)&local), -ENOENT);
    void *heap = malloc(16);
    assert_int_equal(hd_modules_at(&m, (uint64_t)(uintptr_t)heap), -ENOENT);
    free(heap);
    assert_int_equal(m.count, 0);
}

static void exported_functions_are_found_by_name(void **state) {
    static const char *const names[] = {"getpid",      "qsort",   "nanosleep",
                                        "getaddrinfo", "regexec", "pthread_cond_wait"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t want = address_of(names[i]);
        Dl_info info;
        assert_true(want != 0 && dladdr((void *)(uintptr_t)want, &info) != 0);
        int index = hd_modules_at(&m, want);
        if (index < 0 || strstr(hd_module_path(&m, (uint32_t)index), "libc.so") == NULL) {
            continue; /* a sanitizer's */
        }
        assert_true(hd_module_symbol(&m, (uint32_t)index, names[i]) == want);
    }
    int libc = hd_modules_at(&m, address_of("getpid"));
    if (libc >= 0) {
        assert_int_equal(hd_module_symbol(&m, (uint32_t)libc, "hangdog_no_such_function"), 0);
        assert_int_equal(hd_module_symbol(&m, (uint32_t)libc, ""), 0);
        assert_int_equal(hd_module_symbol(&m, (uint32_t)libc, "errno"), 0); /* each thread has its own */
        assert_true(hd_module_symbol(&m, (uint32_t)libc, "_IO_2_1_stdout_") == address_of("_IO_2_1_stdout_"));
    }
    assert_int_equal(hd_module_symbol(&m, HD_MODULES_MAX, "getpid"), 0);
}

static void the_vdso_is_a_module(void **state) {
    (void)state;
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso == 0) {
        skip();
    }
    int index = hd_modules_at(&m, vdso + 16);
    assert_true(index >= 0);
    assert_true(m.module[index].lo == vdso && m.module[index].eh_frame_hdr != 0);
    assert_true(m.module[index].build_id_bytes > 0);
    assert_non_null(strstr(hd_module_path(&m, (uint32_t)index), "vdso"));
}

/* A library's file, copied to where `to` stands. */
static void copy_library(int to) {
    struct link_map *map;
    char bytes[65536];
    ssize_t n;
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    if (library == NULL) {
        skip();
        return; /* the linter does not know that nobody comes here */
    }
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    int from = open(map->l_name, O_RDONLY | O_CLOEXEC);
    assert_true(from >= 0 && to >= 0);
    while ((n = read(from, bytes, sizeof bytes)) > 0) {
        assert_int_equal(write(to, bytes, (size_t)n), n);
    }
    assert_int_equal(n, 0);
    close(from);
    dlclose(library);
}

static void is_named_with(const char *name, const char *path) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    int index = hd_modules_at(&m, (uint64_t)(uintptr_t)dlsym(library, "ns_sprintrr"));
    assert_true(index >= 0);
    assert_string_equal(hd_module_path(&m, (uint32_t)index), path);
    dlclose(library);
}

static void a_library_that_was_opened_by_a_relative_path_has_its_own(void **state) {
    char folder[] = "/tmp/hangdog-image-XXXXXX", path[64], before[4096];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/own.so", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    copy_library(fd);
    close(fd);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    is_named_with("./own.so", path);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(folder_remove(folder), 0);
}

static void names_a_nameless_library_as_the_kernel_does(void **state) {
    char name[64];
    (void)state;
    int fd = memfd_create("own", MFD_CLOEXEC);
    copy_library(fd);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    is_named_with(name, "/memfd:own (deleted)");
    close(fd);
}

static void files_of_the_system_are_known_by_their_folder(void **state) {
    static const char *const its[] = {"/lib/x86_64-linux-gnu/libc.so.6",
                                      "/lib64/ld-linux-x86-64.so.2",
                                      "/usr/lib/a.so",
                                      "/usr/lib32/a.so",
                                      "/usr/libx32/a.so",
                                      "linux-vdso.so.1",
                                      "[vdso]",
                                      "/opt/h/libhangdog-preload.so"};
    static const char *const not_its[] = {"",
                                          "/library/a.so",
                                          "/usr/library-1/a.so",
                                          "/usr/libexec/a",
                                          "/usr/local/lib/a.so",
                                          "/usr/a.so",
                                          "/home/me/lib/a.so",
                                          "/opt/h/libhangdog-preload.so/a.so",
                                          "libhangdog-preload.so"};
    (void)state;
    for (size_t i = 0; i < sizeof its / sizeof *its; i++) {
        assert_true(hd_module_path_is_system(its[i]));
    }
    for (size_t i = 0; i < sizeof not_its / sizeof *not_its; i++) {
        assert_false(hd_module_path_is_system(not_its[i]));
    }
}

/* ---- a made-up process --------------------------------------------------------------------------- */

#define STEP UINT64_C(0x10000)

static uint64_t generation, unloaded;

static int find_made_up(struct hd_modules *table, uint64_t pc, struct hd_module *out, char *path,
                        size_t bytes) {
    (void)table;
    if (pc < STEP || pc >= 1000 * STEP || pc / STEP == unloaded) {
        return -ENOENT;
    }
    out->lo = pc / STEP * STEP;
    out->hi = out->lo + STEP / 2;
    if (pc >= out->hi) {
        return -ENOENT;
    }
    out->handle = generation;
    if (path != NULL) {
        snprintf(path, bytes, "/%s/%lx",
                 "a/path/of/some/length/as/they/are/in/the/real/world/too/and/this/one/is/longer/than/most",
                 pc / STEP);
    }
    return 0;
}

static int cannot_read(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    (void)addr;
    (void)dst;
    (void)n;
    return -EFAULT;
}

static void keeps_unloaded_modules_for_later_lookups(void **state) {
    const uint64_t gone = 5 * STEP + 9, stays = 7 * STEP + 9, later = 6 * STEP + 9;
    char path[128];
    (void)state;
    memset(&m, 0, sizeof m);
    m.memory.read = cannot_read;
    m.find = find_made_up;
    int index = hd_modules_at(&m, gone), other = hd_modules_at(&m, stays);
    assert_true(index >= 0 && other >= 0);
    snprintf(path, sizeof path, "%s", hd_module_path(&m, (uint32_t)index));
    unloaded = 5;
    uint32_t resets = m.resets;
    assert_false(hd_modules_still_valid(&m, true));
    assert_int_not_equal(m.resets, resets);
    assert_true(hd_modules_still_valid(&m, true));
    assert_int_equal(hd_modules_at(&m, gone), -ENOENT);
    assert_int_equal(hd_modules_at_or_gone(&m, gone), index);
    assert_string_equal(hd_module_path(&m, (uint32_t)index), path);
    assert_int_equal(hd_modules_at_or_gone(&m, STEP - 1), -ENOENT);
    assert_int_equal(hd_modules_at(&m, stays), other);
    assert_int_equal(hd_modules_at(&m, later), 2);
    assert_int_equal(hd_modules_at(&m, stays), other);
    unloaded = 0; /* and another one comes there */
    assert_int_equal(hd_modules_at_or_gone(&m, gone), 3);
    assert_true(hd_modules_still_valid(&m, true));
    assert_false(hd_modules_still_valid(&m, false));
    assert_int_equal(m.count, 0);
}

static void a_full_table_keeps_its_indices(void **state) {
    (void)state;
    memset(&m, 0, sizeof m);
    m.memory.read = cannot_read;
    m.find = find_made_up;
    unsigned order = 7, index[1000];
    for (unsigned i = 0; i < HD_MODULES_MAX; i++) {
        order = (order + 389) % 997 + 1; /* from here and there */
        int at = hd_modules_at(&m, order * STEP + 5);
        assert_true(at >= 0);
        index[order] = (unsigned)at;
        assert_int_equal(hd_modules_at(&m, order * STEP + STEP / 2), -ENOENT);
    }
    assert_true(m.count > HD_MODULES_MAX / 2 && m.count <= HD_MODULES_MAX);
    for (uint32_t i = 0; i < m.count; i++) {
        assert_int_equal(hd_modules_at(&m, m.module[i].lo + 1), i);
    }
    for (uint64_t i = 1; i < 1000; i++) {
        (void)hd_modules_at(&m, i * STEP);
    }
    assert_int_equal(m.count, HD_MODULES_MAX);
    assert_true(m.lost > 0);
    assert_true(m.path_bytes <= HD_MODULE_PATHS_BYTES);
    assert_int_equal(hd_modules_at(&m, order * STEP), index[order]);
    assert_int_equal(hd_module_path(&m, HD_MODULES_MAX - 1)[0], 0); /* no room for its path was left */
    assert_int_equal(hd_module_symbol(&m, 0, "f"), 0);
    assert_true(hd_modules_still_valid(&m, true));
    generation++;
    assert_false(hd_modules_still_valid(&m, true));
    assert_int_equal(m.count, 0);
}

/* ---- a made-up program ---------------------------------------------------------------------------- */

static int read_own(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    memcpy(dst, (const void *)(uintptr_t)addr, n); // NOLINT(performance-no-int-to-ptr)
    return 0;
}

/* What is found of the program's second segment, which begins `hole` above the first one's end. */
static struct hd_module second_segment(uint64_t hole) {
    const uint64_t bias = 0x5500000000, text = 0x1000 + hole;
    const ElfW(Phdr) headers[] = {
        {.p_type = PT_PHDR, .p_offset = 64, .p_vaddr = 64, .p_memsz = 56},
        {.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 0x1000},
        {.p_type = PT_LOAD, .p_offset = 0x1000, .p_vaddr = text, .p_memsz = 0x3000},
    };
    const struct hd_memory memory = {.read = read_own};
    struct hd_module part = {.lo = bias + text, .hi = bias + text + 0x3000, .bias = bias};
    part.header = part.lo;
    hd_elf_whole_program(&memory, (uintptr_t)headers, sizeof headers / sizeof *headers, &part);
    assert_true(part.header == bias);
    assert_true(part.hi == bias + text + 0x3000);
    part.lo -= bias;
    return part;
}

static void a_program_with_holes_has_one_header(void **state) {
    (void)state;
    assert_int_equal(second_segment(0).lo, 0);
    assert_int_equal(second_segment(0x10000).lo, 0);
    assert_int_equal(second_segment(0x1ff000).lo, 0x200000); /* what is in the hole is not the program's */
}

/* Where notes are aligned to 8, what is told by a note is, and not its name. */
static void a_build_id_is_found_among_larger_notes(void **state) {
    struct {
        ElfW(Ehdr) elf;
        ElfW(Phdr) notes;
        struct {
            ElfW(Nhdr) head;
            char name[4];
            uint8_t expected[24];
        } note[2];
    } file = {
        .elf = {.e_ident = ELFMAG,
                .e_phoff = sizeof file.elf,
                .e_phnum = 1,
                .e_phentsize = sizeof file.notes},
        .notes = {.p_type = PT_NOTE, .p_filesz = sizeof file.note, .p_align = 8},
        .note = {{{4, 20, NT_GNU_PROPERTY_TYPE_0}, "GNU", {0}},
                 {{4, 20, NT_GNU_BUILD_ID}, "GNU", {1, 2, 3, [19] = 20}}},
    };
    const struct hd_memory memory = {.read = read_own};
    struct hd_module module = {.header = (uintptr_t)&file, .bias = (uintptr_t)&file.note};
    (void)state;
    file.elf.e_ident[EI_CLASS] = ELFCLASS64;
    file.elf.e_ident[EI_DATA] = ELFDATA2LSB;
    assert_int_equal(hd_elf_headers(&memory, &module), 0);
    assert_int_equal(module.build_id_bytes, 20);
    assert_memory_equal(module.build_id, file.note[1].expected, 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(modules_are_what_the_loader_says, set_up),
        cmocka_unit_test_setup(the_loaders_list_has_the_same_objects, set_up),
        cmocka_unit_test_setup(what_the_loader_does_not_know_is_no_module, set_up),
        cmocka_unit_test_setup(exported_functions_are_found_by_name, set_up),
        cmocka_unit_test_setup(the_vdso_is_a_module, set_up),
        cmocka_unit_test_setup(a_library_that_was_opened_by_a_relative_path_has_its_own, set_up),
        cmocka_unit_test_setup(names_a_nameless_library_as_the_kernel_does, set_up),
        cmocka_unit_test(files_of_the_system_are_known_by_their_folder),
        cmocka_unit_test(keeps_unloaded_modules_for_later_lookups),
        cmocka_unit_test(a_full_table_keeps_its_indices),
        cmocka_unit_test(a_program_with_holes_has_one_header),
        cmocka_unit_test(a_build_id_is_found_among_larger_notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
