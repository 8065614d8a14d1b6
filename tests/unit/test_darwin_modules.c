/* SPDX-License-Identifier: MIT
 *
 * The modules of a made-up process of Apple's systems: images that come and go, a list that changes while it
 * is read, the loader's own image, exported symbols.
 *
 * sources: src/image/darwin/modules_live.c
 * sources: src/image/darwin/modules_symbols.c
 * sources: src/image/darwin/modules_system.c
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "image/macho/image_list.h"
#include "image/modules.h"
#include "image_process.h"

#define FIRST UINT64_C(0x104000000)
#define STEP UINT64_C(0x1000000)
#define APP "/Users/me/App.app/Contents/MacOS/App"

static struct hd_modules m;
static struct macho_image images[PROCESS_IMAGES + 1];

static struct macho_image *make(uint32_t i, uint32_t file_type) {
    uint8_t uuid[24] = {HD_LC_UUID, 0, 0, 0, 24, 0, 0, 0, 7, (uint8_t)i, (uint8_t)(i >> 8)};
    macho_image_init(&images[i], FIRST + i * STEP, NULL, 0);
    macho_image_command(&images[i], uuid, sizeof uuid);
    macho_image_header(&images[i])->file_type = file_type;
    return &images[i];
}

static int set_up(void **state) {
    (void)state;
    process_init();
    process_load(make(0, HD_MACHO_EXECUTE), APP);
    process_load(make(1, HD_MACHO_DYLIB), "/usr/lib/libSystem.B.dylib");
    process_load(make(2, HD_MACHO_DYLIB), "/Users/me/App.app/Contents/Frameworks/Own.framework/Own");
    hd_modules_init_live(&m, -1);
    return 0;
}

static void modules_are_what_the_list_says(void **state) {
    (void)state;
    int i = hd_modules_at(&m, FIRST + 0x10);
    assert_int_equal(i, 0);
    assert_true(m.module[0].main_program && m.module[0].format == HD_IMAGE_MACHO);
    assert_true(m.module[0].lo == FIRST && m.module[0].hi == FIRST + MACHO_IMAGE_TEXT_BYTES);
    assert_true(m.module[0].header == FIRST && m.module[0].bias == FIRST - MACHO_IMAGE_VMADDR);
    assert_true(m.module[0].build_id_bytes == 16 && m.module[0].build_id[0] == 7);
    assert_string_equal(hd_module_path(&m, 0), APP);
    i = hd_modules_at(&m, FIRST + STEP + MACHO_IMAGE_TEXT_BYTES - 1);
    assert_int_equal(i, 1);
    assert_false(m.module[1].main_program);
    assert_int_equal(m.module[1].build_id[1], 1);
    assert_string_equal(hd_module_path(&m, 1), "/usr/lib/libSystem.B.dylib");
    assert_true(hd_module_is_system(&m, 1) && !hd_module_is_system(&m, 0));
    assert_false(hd_module_is_system(&m, (uint32_t)hd_modules_at(&m, FIRST + 2 * STEP)));
    assert_true(process.longest_read <= 16 * 1024);
}

static void other_addresses_are_in_no_module(void **state) {
    (void)state;
    static const uint64_t nowhere[] = {
        0, FIRST - 1, FIRST + MACHO_IMAGE_TEXT_BYTES, FIRST + STEP - 1, FIRST + 3 * STEP, UINT64_MAX};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        assert_int_equal(hd_modules_at(&m, nowhere[i]), -ENOENT);
    }
    assert_int_equal(process.questions, 1);
    hd_modules_init_live(&m, -1);
    process.images_rc = -ENOSYS;
    assert_int_equal(hd_modules_at(&m, FIRST), -ENOENT);
}

static void images_come_and_go(void **state) {
    (void)state;
    assert_int_equal(hd_modules_at(&m, FIRST), 0);
    assert_int_equal(hd_modules_at(&m, FIRST + 2 * STEP), 1);
    assert_true(hd_modules_still_valid(&m, true));
    process_load(make(3, HD_MACHO_BUNDLE), "/Users/me/plugin.bundle/plugin");
    assert_true(hd_modules_still_valid(&m, true));
    assert_int_equal(hd_modules_at(&m, FIRST + 3 * STEP), 2);
    process_unload(2);
    assert_false(hd_modules_still_valid(&m, true));
    assert_true(m.module[1].gone && m.gone == 1);
    assert_int_equal(hd_modules_at(&m, FIRST + 2 * STEP), -ENOENT);
    assert_int_equal(hd_modules_at_or_gone(&m, FIRST + 2 * STEP), 1);
    /* Another image at the same place is another module. */
    process_load(make(2, HD_MACHO_DYLIB), "/Users/me/other.dylib");
    assert_int_equal(hd_modules_at(&m, FIRST + 2 * STEP), 3);
    assert_string_equal(hd_module_path(&m, 3), "/Users/me/other.dylib");
    assert_true(hd_modules_still_valid(&m, true));
}

/* Without a change of the list a check of all modules reads the list's head only. */
static void an_unchanged_list_costs_little(void **state) {
    (void)state;
    for (uint32_t i = 3; i < PROCESS_IMAGES; i++) {
        process_load(make(i, HD_MACHO_DYLIB), "/usr/lib/x.dylib");
    }
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(hd_modules_at(&m, FIRST + 7 * i * STEP), i);
    }
    assert_true(hd_modules_still_valid(&m, true));
    process.reads = 0;
    assert_true(hd_modules_still_valid(&m, true));
    assert_true(process.reads <= 50 * 2);
    /* An image with another UUID at the same place, and the list has changed. */
    images[14].bytes[sizeof(struct hd_macho_header) + macho_image_header(&images[14])->commands_bytes - 1]++;
    assert_true(hd_modules_still_valid(&m, true));
    process.infos.changed++;
    assert_false(hd_modules_still_valid(&m, true));
}

/* ---- a list that changes during a read ------------------------------------------------------------ */

static unsigned changes;

static void change_once(uint64_t addr) {
    if (addr == PROCESS_ARRAY && changes++ == 0) {
        process_load(make(3, HD_MACHO_DYLIB), "/usr/lib/late.dylib");
    }
}

static void change_always(uint64_t addr) {
    if (addr == PROCESS_ARRAY) {
        process.infos.changed++;
        changes++;
    }
}

static void a_change_during_the_read_is_noticed(void **state) {
    (void)state;
    changes = 0;
    process.at_read = change_once;
    /* The first read of the list had three images. */
    assert_int_equal(hd_modules_at(&m, FIRST + 3 * STEP), 0);
    assert_int_equal(changes, 2);
    changes = 0;
    process.at_read = change_always;
    assert_int_equal(hd_modules_at(&m, FIRST + STEP), -ENOENT);
    assert_int_equal(changes, 4);
}

static void while_the_loader_changes_the_list(void **state) {
    (void)state;
    assert_int_equal(hd_modules_at(&m, FIRST), 0);
    assert_int_equal(hd_modules_at(&m, FIRST + STEP), 1);
    process.infos.array = 0;
    assert_int_equal(hd_modules_at(&m, FIRST + 2 * STEP), -ENOENT);
    /* Known modules are checked by their headers. */
    assert_true(hd_modules_still_valid(&m, true));
    process.image[1] = NULL;
    assert_false(hd_modules_still_valid(&m, true));
    assert_true(m.module[1].gone && !m.module[0].gone);
}

static void an_older_loader_has_no_time(void **state) {
    (void)state;
    process.infos.version = 14;
    process.infos.changed = 0x1234;
    assert_int_equal(hd_modules_at(&m, FIRST + STEP), 0);
    process.infos.changed++;
    assert_true(hd_modules_still_valid(&m, true));
    process_unload(1);
    assert_false(hd_modules_still_valid(&m, true));
    /* Then the word is another thing, and may change. */
    process.at_read = change_always;
    assert_int_equal(hd_modules_at(&m, FIRST + 2 * STEP), 1);
}

/* The same file at the same place, under another path: the frames of old captures keep the old one. */
static void a_copy_of_an_image_is_another_module(void **state) {
    (void)state;
    assert_int_equal(hd_modules_at(&m, FIRST + 2 * STEP), 0);
    process_unload(2);
    process_load(&images[2], "/Users/me/copy.dylib");
    assert_false(hd_modules_still_valid(&m, true));
    assert_string_equal(hd_module_path(&m, (uint32_t)hd_modules_at(&m, FIRST + 2 * STEP)),
                        "/Users/me/copy.dylib");
}

static void the_loader_is_a_module(void **state) {
    (void)state;
    process_set_loader(make(5, HD_MACHO_DYLINKER), NULL);
    assert_int_equal(hd_modules_at(&m, FIRST + 5 * STEP + 8), 0);
    assert_string_equal(hd_module_path(&m, 0), "/usr/lib/dyld");
    set_up(NULL);
    process_set_loader(make(5, HD_MACHO_DYLINKER), "/Simulator/RuntimeRoot/usr/lib/dyld_sim");
    assert_int_equal(hd_modules_at(&m, FIRST + 5 * STEP + 8), 0);
    assert_string_equal(hd_module_path(&m, 0), "/Simulator/RuntimeRoot/usr/lib/dyld_sim");
    assert_true(hd_module_is_system(&m, 0));
}

static void hostile_lists_end(void **state) {
    (void)state;
    process.infos.count = UINT32_MAX;
    assert_int_equal(hd_modules_at(&m, FIRST), -ENOENT);
    process.infos.count = 3;
    process.array[0].path = 8;
    assert_int_equal(hd_modules_at(&m, FIRST), 0);
    assert_string_equal(hd_module_path(&m, 0), "");
    process.array[1].header = 12;
    assert_int_equal(hd_modules_at(&m, FIRST + STEP), -ENOENT);
    process.infos.array = UINT64_MAX - 8;
    assert_int_equal(hd_modules_at(&m, FIRST + 2 * STEP), -ENOENT);
}

static void the_program_has_a_path(void **state) {
    (void)state;
    char path[256] = "";
    hd_image_program_path(path, sizeof path);
    assert_string_equal(path, APP);
    hd_image_program_path(path, 8);
    assert_string_equal(path, "/Users/");
    macho_image_header(&images[0])->file_type = HD_MACHO_DYLIB;
    hd_image_program_path(path, sizeof path);
    assert_string_equal(path, "");
}

/* At the start of a run no module is known. */
static void the_programs_module_becomes_known(void **state) {
    (void)state;
    assert_int_equal(m.count, 0);
    assert_int_equal(hd_modules_program(&m), 0);
    assert_true(m.module[0].main_program && m.module[0].build_id_bytes == 16);
    macho_image_header(&images[0])->file_type = HD_MACHO_DYLIB;
    assert_int_equal(hd_modules_program(&m), -1);
}

static void folders_of_the_system(void **state) {
    (void)state;
    static const char *const its[] = {
        "/usr/lib/libobjc.A.dylib",
        "/System/Library/Frameworks/AppKit.framework/Versions/C/AppKit",
        "/System/iOSSupport/System/Library/Frameworks/UIKit.framework/UIKit",
        "/private/preboot/Cryptexes/OS/usr/lib/libc++.1.dylib",
        "/Library/Apple/usr/libexec/oah/libRosettaRuntime",
        "/Library/Developer/CoreSimulator/Volumes/iOS_21A/x/RuntimeRoot/usr/lib/libSystem.dylib",
        "/tmp/libhangdog-insert.dylib"};
    static const char *const not_its[] = {"",
                                          "main.py",
                                          "/usr/local/lib/a.dylib",
                                          "/opt/homebrew/lib/a.dylib",
                                          "/Applications/A.app/Contents/Frameworks/B.framework/B",
                                          "/System/Volumes/Data/Users/me/a.dylib",
                                          "/private/var/containers/Bundle/Application/1/A.app/Frameworks/B",
                                          "/Library/Developer/x/RuntimeRoot/Users/me/a"};
    for (size_t i = 0; i < sizeof its / sizeof its[0]; i++) {
        assert_true(hd_module_path_is_system(its[i]));
    }
    for (size_t i = 0; i < sizeof not_its / sizeof not_its[0]; i++) {
        assert_false(hd_module_path_is_system(not_its[i]));
    }
}

/* _read at 0x1040, _readv is taken from another image. Written by hand: root, "_read", then "v". */
static void exported_functions_are_found_by_name(void **state) {
    (void)state;
    static const uint8_t trie[] = {0,    1, '_', 'r', 'e', 'a', 'd', 0, 9,   3, 0, 0xc0,
                                   0x20, 1, 'v', 0,   17,  4,   8,   1, 'x', 0, 0};
    struct hd_macho_linkedit_data exports = {HD_LC_DYLD_EXPORTS_TRIE, sizeof exports, 0, sizeof trie};
    exports.offset = macho_image_table(&images[1], trie, sizeof trie);
    macho_image_command(&images[1], &exports, sizeof exports);
    assert_int_equal(hd_modules_at(&m, FIRST + STEP), 0);
    assert_int_equal(hd_modules_at(&m, FIRST), 1);
    assert_true(hd_module_symbol(&m, 0, "read") == FIRST + STEP + 0x1040);
    assert_true(hd_module_symbol(&m, 0, "readv") == 0);
    assert_true(hd_module_symbol(&m, 0, "rea") == 0 && hd_module_symbol(&m, 0, "reads") == 0);
    assert_true(hd_module_symbol(&m, 1, "read") == 0 && hd_module_symbol(&m, 2, "read") == 0);
    process.reads = 0;
    assert_true(hd_module_symbol(&m, 0, "write") == 0);
    process.reads = 0;
    assert_true(hd_module_symbol(&m, 0, "poll") == 0);
    assert_true(process.reads <= 2);
}

/* A trie whose node leads to itself behind many other edges: a long name does not cost the whole table for
 * each letter. */
static void a_hostile_trie_costs_little(void **state) {
    (void)state;
    static uint8_t trie[200 * 66 + 8] = {0, 200, 'y'};
    char name[251];
    for (size_t i = 0; i < 200; i++) {
        memset(trie + 2 + 66 * i, 'y', 64); /* a string, its end, and the offset of no node */
    }
    memcpy(trie + 2 + 66 * 198, "_\0\0a\0", 6); /* the last two edges lead back to the root */
    struct hd_macho_linkedit_data exports = {HD_LC_DYLD_EXPORTS_TRIE, sizeof exports, 0, sizeof trie};
    exports.offset = macho_image_table(&images[1], trie, sizeof trie);
    macho_image_command(&images[1], &exports, sizeof exports);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(hd_modules_at(&m, FIRST + STEP), 0);
    process.reads = 0;
    assert_true(hd_module_symbol(&m, 0, name) == 0);
    assert_true(process.reads > 64 && process.reads < 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(modules_are_what_the_list_says, set_up),
        cmocka_unit_test_setup(other_addresses_are_in_no_module, set_up),
        cmocka_unit_test_setup(images_come_and_go, set_up),
        cmocka_unit_test_setup(an_unchanged_list_costs_little, set_up),
        cmocka_unit_test_setup(a_change_during_the_read_is_noticed, set_up),
        cmocka_unit_test_setup(while_the_loader_changes_the_list, set_up),
        cmocka_unit_test_setup(an_older_loader_has_no_time, set_up),
        cmocka_unit_test_setup(a_copy_of_an_image_is_another_module, set_up),
        cmocka_unit_test_setup(the_loader_is_a_module, set_up),
        cmocka_unit_test_setup(hostile_lists_end, set_up),
        cmocka_unit_test_setup(the_program_has_a_path, set_up),
        cmocka_unit_test_setup(the_programs_module_becomes_known, set_up),
        cmocka_unit_test_setup(folders_of_the_system, set_up),
        cmocka_unit_test_setup(exported_functions_are_found_by_name, set_up),
        cmocka_unit_test_setup(a_hostile_trie_costs_little, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
