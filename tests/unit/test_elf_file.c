/* SPDX-License-Identifier: MIT
 *
 * The head of a program's file: this test's own, and garbage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/elf/elf_file.h"

static int file_of(const void *bytes, size_t n) {
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, 0), n);
    return fd;
}

static void this_program_names_its_loader_and_has_text(void **state) {
    struct hd_elf_file f;
    ElfW(Shdr) names, one;
    char loader[256], name[sizeof ".text"];
    bool text = false;
    (void)state;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(hd_elf_file_read(&f, fd));
    assert_true(hd_elf_file_loader(&f, loader, sizeof loader));
    assert_non_null(strstr(loader, "/ld-linux-"));
    assert_int_equal(access(loader, R_OK), 0);
    assert_true(hd_elf_file_section(&f, f.head.e_shstrndx, &names));
    for (unsigned i = 0; hd_elf_file_section(&f, i, &one); i++) {
        text |= pread(fd, name, sizeof name, (off_t)(names.sh_offset + one.sh_name)) == sizeof name &&
                memcmp(name, ".text", sizeof name) == 0;
    }
    assert_true(text);
    close(fd);
}

/* A file whose one segment is the loader's name, of `bytes`. */
static struct hd_elf_file with_a_loader(uint64_t bytes) {
    struct {
        ElfW(Ehdr) head;
        ElfW(Phdr) segment;
        char name[8];
    } file = {
        .head = {.e_ident = ELFMAG, .e_phnum = 1, .e_phoff = sizeof file.head},
        .segment = {.p_type = PT_INTERP, .p_filesz = bytes, .p_offset = offsetof(__typeof__(file), name)},
        .name = "/loader"};
    struct hd_elf_file f;
    assert_true(hd_elf_file_read(&f, file_of(&file, sizeof file)));
    return f;
}

static void a_broken_file_has_no_loader(void **state) {
    char loader[12];
    (void)state;
    static const struct {
        uint64_t bytes;
        bool good;
    } cases[] = {{8, true}, {0, false}, {9, false}, {12, false}, {UINT64_MAX, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hd_elf_file f = with_a_loader(cases[i].bytes);
        assert_int_equal(hd_elf_file_loader(&f, loader, sizeof loader), cases[i].good);
        assert_string_equal(loader, cases[i].good ? "/loader" : "");
        close(f.fd);
    }
    struct hd_elf_file f = with_a_loader(8);
    f.head.e_phnum = 2; /* which ends behind the file */
    f.head.e_phoff += sizeof(ElfW(Phdr));
    assert_false(hd_elf_file_loader(&f, loader, sizeof loader));
    f.head.e_phnum = 0;
    assert_true(hd_elf_file_loader(&f, loader, sizeof loader));
    assert_string_equal(loader, "");
    close(f.fd);
}

static void no_elf_file_is_none(void **state) {
    struct hd_elf_file f;
    ElfW(Shdr) s;
    (void)state;
    int fd = file_of("\177ELF", 4);
    assert_false(hd_elf_file_read(&f, fd));
    close(fd);
    fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_false(hd_elf_file_read(&f, fd));
    assert_false(hd_elf_file_section(&f, 0, &s));
    close(fd);
}

static void a_script_names_its_interpreter(void **state) {
    static const struct {
        const char *head, *path;
    } cases[] = {{"#!/bin/sh\n", "/bin/sh"},
                 {"#! \t/bin/sh -e\n", "/bin/sh"},
                 {"#!/bin/sh\r\n", "/bin/sh\r"},
                 {"#!12345678901234567890", "123456789012345"},
                 {"#!\n", ""},
                 {"#/bin/sh", NULL},
                 {"", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[16] = "";
        bool found = hd_elf_script_interpreter(cases[i].head, path, sizeof path);
        assert_int_equal(found, cases[i].path != NULL && cases[i].path[0] != '\0');
        assert_string_equal(path, found ? cases[i].path : "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_program_names_its_loader_and_has_text),
        cmocka_unit_test(a_broken_file_has_no_loader),
        cmocka_unit_test(no_elf_file_is_none),
        cmocka_unit_test(a_script_names_its_interpreter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
