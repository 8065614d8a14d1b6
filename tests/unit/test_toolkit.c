/* SPDX-License-Identifier: MIT
 *
 * Whether a stack's innermost functions are a toolkit's: modules that are made up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cause/toolkit.h"

#define STEP 0x1000u

static struct hd_modules m;
static const char *const files[] = {
    "/home/user/app",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libgobject-2.0.so.0.7400.6",
    "/usr/lib/x86_64-linux-gnu/libpango-1.0.so.0.5000.12",
    "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6",
    "/home/user/libgtk-of-mine.so",
};
enum file {
    APP,
    LIBC,
    GOBJECT,
    PANGO,
    SQLITE,
    OWN,
    FILES
};

static int cannot_read(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx, (void)addr, (void)dst, (void)n;
    return -EFAULT;
}

static int find_made_up(struct hd_modules *modules, uint64_t pc, struct hd_module *out, char *path,
                        size_t path_bytes) {
    uint64_t which = pc / STEP - 1;
    (void)modules;
    if (which >= FILES) {
        return -ENOENT;
    }
    out->lo = (which + 1) * STEP;
    out->hi = out->lo + STEP;
    out->main_program = which == APP;
    if (path != NULL) {
        snprintf(path, path_bytes, "%s", files[which]);
    }
    return 0;
}

/* The frames of these files, innermost first. */
static struct hd_probe found(const enum file *of, uint32_t count) {
    struct hd_frame frames[4] = {0};
    struct hd_probe probe = {0};
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = (struct hd_frame){.pc = (of[i] + 1) * STEP + 64, .trust = HD_TRUST_CFI};
    }
    hd_toolkit_find(&m, frames, count, &probe);
    return probe;
}

static bool draws(const struct hd_probe *probe) {
    return probe->evidence.kind == HD_EVIDENCE_TOOLKIT;
}

static bool draws_in(const enum file *of, uint32_t count) {
    struct hd_probe probe = found(of, count);
    return draws(&probe);
}

static void the_innermost_library_counts(void **state) {
    (void)state;
    struct hd_probe probe = found((const enum file[]){LIBC, GOBJECT, PANGO, APP}, 4);
    assert_true(draws(&probe));
    assert_string_equal(probe.evidence.name, "libpango-1.0");
    assert_false(draws_in((const enum file[]){LIBC, APP, PANGO}, 3)); /* its callback */
    assert_false(draws_in((const enum file[]){SQLITE, PANGO}, 2));
    assert_false(draws_in((const enum file[]){LIBC, OWN}, 2));
    assert_false(draws_in((const enum file[]){FILES, PANGO}, 2)); /* JIT code */
    assert_false(draws_in(NULL, 0));
}

static void toolkits_are_known_by_their_files(void **state) {
    (void)state;
    assert_true(hd_toolkit_is_one("libgtk-3.so.0") && hd_toolkit_is_one("libQt6Gui.so.6") &&
                hd_toolkit_is_one("libgdk_pixbuf-2.0.so.0"));
    assert_false(hd_toolkit_is_one("libgtop-2.0.so.11") || hd_toolkit_is_one("libQt5Core.so.5") ||
                 hd_toolkit_is_one("") || hd_toolkit_is_one("libgtk"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_library_counts),
        cmocka_unit_test(toolkits_are_known_by_their_files),
    };
    m.find = find_made_up;
    m.memory.read = cannot_read;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
