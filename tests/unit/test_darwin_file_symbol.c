/* SPDX-License-Identifier: MIT
 *
 * A function of a Mach-O file by its name, also one that is not exported; and files that have none.
 *
 * sources: src/image/darwin/file_symbol.c
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "image/arch/macho_cpu.h"
#include "image/file_symbol.h"
#include "macho_image.h"

static struct macho_image image;
static char path[64];

static void write_file(size_t bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, image.bytes, bytes) == (ssize_t)bytes);
    close(fd);
}

static int set_up(void **state) {
    (void)state;
    static const char strings[] = "\0_main\0_hidden";
    struct hd_macho_symbol symbols[] = {
        {.name = 1, .type = 0xf, .section = 1, .value = MACHO_IMAGE_VMADDR + 0x1000},
        {.name = 7, .type = 0xe, .section = 1, .value = MACHO_IMAGE_VMADDR + 0x1040},
    };
    struct hd_macho_symtab s = {
        .command = HD_LC_SYMTAB, .bytes = sizeof s, .symbols = 2, .strings_bytes = sizeof strings};
    macho_image_init(&image, 0, NULL, 0);
    macho_image_header(&image)->cpu = HD_MACHO_CPU_BUILD;
    s.symbols_offset = macho_image_table(&image, symbols, sizeof symbols);
    s.strings_offset = macho_image_table(&image, strings, sizeof strings);
    macho_image_command(&image, &s, sizeof s);
    return 0;
}

static void functions_are_found_by_name(void **state) {
    (void)state;
    write_file(sizeof image.bytes);
    assert_true(hd_file_symbol(path, "main") == MACHO_IMAGE_VMADDR + 0x1000);
    assert_true(hd_file_symbol(path, "hidden") == MACHO_IMAGE_VMADDR + 0x1040);
    assert_true(hd_file_symbol(path, "hidde") == 0 && hd_file_symbol(path, "") == 0);
    assert_true(hd_file_symbol("/no/such/file", "main") == 0 && hd_file_symbol("/", "main") == 0);
}

static void other_files_have_none(void **state) {
    (void)state;
    macho_image_header(&image)->cpu++;
    write_file(sizeof image.bytes);
    assert_true(hd_file_symbol(path, "main") == 0);
    set_up(NULL);
    for (size_t cut = 0; cut < MACHO_IMAGE_TEXT_BYTES + 0x20; cut += 40) {
        write_file(cut);
        assert_true(hd_file_symbol(path, "hidden") == 0);
    }
    assert_true(hd_file_symbol("/proc/self/exe", "main") == 0);
}

static char folder[] = "/tmp/hd-file-symbol-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    snprintf(path, sizeof path, "%s/file", mkdtemp(folder));
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    return folder_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(functions_are_found_by_name, set_up),
        cmocka_unit_test_setup(other_files_have_none, set_up),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
