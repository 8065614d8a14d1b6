/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/outside/go_program.h"

/* A file with one section of this name. */
static int file_with(const char *name, uint64_t names_at, uint16_t sections) {
    char path[] = "/tmp/hangdog-test-XXXXXX", text[32] = "";
    Elf64_Ehdr e = {.e_shoff = sizeof e, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = sections};
    Elf64_Shdr one = {.sh_offset = names_at};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    memcpy(e.e_ident, ELFMAG, SELFMAG);
    e.e_ident[EI_CLASS] = ELFCLASS64;
    snprintf(text, sizeof text, "%s", name);
    assert_int_equal(pwrite(fd, &e, sizeof e, 0), sizeof e);
    assert_int_equal(pwrite(fd, &one, sizeof one, sizeof e), sizeof one);
    assert_int_equal(pwrite(fd, text, sizeof text, 512), sizeof text);
    return fd;
}

static bool is_go(const char *name, uint64_t names_at, uint16_t sections) {
    int fd = file_with(name, names_at, sections);
    bool found = go_program_file(fd);
    close(fd);
    return found;
}

static void a_go_program_is_known_by_its_build_information(void **state) {
    (void)state;
    assert_true(is_go(".go.buildinfo", 512, 1));
    assert_false(is_go(".go.buildinfos", 512, 1));
    assert_false(is_go(".text", 512, 1));
}

static void a_hostile_file_is_no_go_program(void **state) {
    (void)state;
    assert_false(is_go(".go.buildinfo", UINT64_MAX, UINT16_MAX));
    assert_false(is_go(".go.buildinfo", 4096, 1));
    int fd = open("/dev/null", O_RDONLY);
    assert_false(go_program_file(fd));
    close(fd);
}

static void this_program_is_none(void **state) {
    (void)state;
    static const struct live_command command = {"attach", "attach to"};
    struct live_process p;
    struct problem why = {.text = ""};
    assert_int_equal(live_process_open(getpid(), &command, &p, &why), 0);
    assert_false(go_program_runs(&p, &why));
    live_process_close(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_go_program_is_known_by_its_build_information),
        cmocka_unit_test(a_hostile_file_is_no_go_program),
        cmocka_unit_test(this_program_is_none),
    };
    return cmocka_run_group_tests_name("go program", tests, NULL, NULL);
}
