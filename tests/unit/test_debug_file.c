/* SPDX-License-Identifier: MIT
 *
 * Which files are debug files: real ones of the compiler, others, and damaged ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <dirent.h>
#include <sys/mman.h>

#include "debug_files.h"
#include "uploader/symbols.h"

static char folder[64];

static int set_up(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/hangdog-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return folder_remove(folder);
}

static bool open_name(const char *name, struct debug_file *file, struct problem *why) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *why = (struct problem){0};
    bool more;
    return symbols_open_file(path, 0, file, &more, why);
}

static void refused(const char *name, const char *reason) {
    struct debug_file file;
    struct problem why;
    assert_false(open_name(name, &file, &why));
    if (strstr(why.text, reason) == NULL) {
        fail_msg("%s: %s", name, why.text);
    }
}

static void accepted(const char *name, const char *build_id) {
    struct debug_file file;
    struct problem why;
    struct stat st;
    if (!open_name(name, &file, &why)) {
        fail_msg("%s", why.text);
    }
    assert_string_equal(file.build_id, build_id);
    assert_int_equal(fstat(file.fd, &st), 0);
    assert_int_equal(file.bytes, st.st_size);
    assert_int_equal(fcntl(file.fd, F_GETFD), FD_CLOEXEC);
    close(file.fd);
}

static void compile(const char *options, const char *name) {
    assert_int_equal(debug_run("/usr/bin/gcc -g %s -o %s/%s %s/shop.c", options, folder, name, folder), 0);
}

static void files_of_the_compiler(void **state) {
    (void)state;
    if (!debug_make(folder)) {
        skip();
    }
    accepted("shop", DEBUG_BUILD_ID);
    accepted("shop.debug", DEBUG_BUILD_ID);
    refused("shop.stripped", "it has no symbols and no debug information");
    compile("-Wl,--build-id=none", "none");
    refused("none", "it has no build-id");
    compile("-c -x c", "part.o");
    refused("part.o", "it has no build-id");
    compile("-Wl,--build-id=0xabcdef01", "4-bytes");
    accepted("4-bytes", "abcdef01");
    compile("-Wl,--build-id=0x" DEBUG_BUILD_ID "aabbccddeeff001122334455", "32-bytes");
    accepted("32-bytes", DEBUG_BUILD_ID "aabbccddeeff001122334455");
    compile("-Wl,--build-id=0x" DEBUG_BUILD_ID "aabbccddeeff00112233445566", "33-bytes");
    refused("33-bytes", "it has no build-id");
    assert_int_equal(debug_run("/usr/bin/ar rc %s/lib.a %s/part.o", folder, folder), 0);
    refused("lib.a", "it is no ELF and no Mach-O file");
}

static void what_is_no_file(void **state) {
    (void)state;
    char path[256];
    debug_write(folder, "empty", "", 0);
    debug_write(folder, "text",
                "\x7f"
                "ELF",
                4);
    refused("empty", "it is no ELF and no Mach-O file");
    refused("text", "it is no ELF and no Mach-O file");
    refused("nothing", "No such file");
    refused(".", "it is no regular file");
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused("pipe", "it is no regular file"); /* and no wait for a writer */
}

static int descriptors(void) {
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

/* `memory`: a file without a disk, since there are thousands. */
static bool try_bytes(int memory, const unsigned char *data, size_t bytes) {
    struct debug_file file;
    struct problem why = {0};
    char path[64];
    assert_int_equal(ftruncate(memory, 0), 0);
    assert_int_equal(pwrite(memory, data, bytes, 0), bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    bool more, opened = symbols_open_file(path, 0, &file, &more, &why);
    if (opened) {
        close(file.fd);
    } else {
        assert_true(why.text[0] != '\0');
    }
    return opened;
}

static void damaged_files_are_read_or_refused(void **state) {
    (void)state;
    static const unsigned char values[] = {0x00, 0x7f, 0xff};
    size_t bytes, opened = 0;
    if (!debug_make(folder)) {
        skip();
    }
    unsigned char *data = debug_read(folder, "shop.debug", &bytes);
    int memory = memfd_create("debug file", MFD_CLOEXEC), before = descriptors();
    assert_true(memory >= 0);
    for (size_t n = 0; n < bytes; n += n < 128 ? 1 : 61) {
        opened += try_bytes(memory, data, n);
    }
    assert_int_equal(opened, 0); /* the sections' heads are at the end */
    size_t heads = bytes > 64 * 40 ? bytes - (size_t)64 * 40 : 0;
    for (size_t at = 0; at < bytes; at += at < 1024 || at > heads ? 1 : 211) {
        unsigned char own = data[at];
        for (size_t i = 0; i < sizeof values; i++) {
            data[at] = values[i];
            opened += try_bytes(memory, data, bytes);
        }
        data[at] = own;
    }
    assert_true(opened > 1000);
    assert_true(try_bytes(memory, data, bytes));
    assert_int_equal(descriptors(), before);
    close(memory);
    free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_of_the_compiler, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_files_are_read_or_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
