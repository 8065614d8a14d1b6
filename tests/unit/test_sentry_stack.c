/* SPDX-License-Identifier: MIT
 *
 * Frames and modules of Sentry's events: their order, their limits, and addresses of any kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "collector/sentry/sentry_stack.h"
#include "sentry_events.h"

static json_t *frames_of(const json_t *event, const json_t *stack) {
    struct sentry_images images;
    sentry_stack_images(event, &images);
    return sentry_stack_frames(event, &images, stack);
}

/* The frames of {'platform':PLATFORM,...} with one frame. */
static json_t *one_frame(const char *platform, const char *members) {
    char text[1024];
    snprintf(text, sizeof text,
             "{'platform':'%s','debug_meta':{'images':[{'image_addr':'0x5000','image_size':4096},"
             "{'image_addr':'0xfffffffffffff000','image_size':8192}]},"
             "'stacktrace':{'frames':[{%s}]}}",
             platform, members);
    json_t *event = sentry_json(text), *frames = frames_of(event, json_object_get(event, "stacktrace"));
    json_t *frame = json_incref(json_array_get(frames, 0));
    assert_int_equal(json_array_size(frames), 1);
    json_decref(frames);
    json_decref(event);
    return frame;
}

static void check(const char *platform, const char *members, const char *name, const char *expected) {
    json_t *frame = one_frame(platform, members);
    if (strcmp(sentry_text(frame, name), expected) != 0) {
        fail_msg("%s {%s}: %s is %s", platform, members, name, sentry_text(frame, name));
    }
    json_decref(frame);
}

static void functions(void **state) {
    (void)state;
    check("node", "'function':'f','module':'shop'", "function", "f");
    check("java", "'function':'checkout','module':'com.example.Shop'", "function",
          "com.example.Shop.checkout");
    check("csharp", "'function':'Pay','module':'Shop'", "function", "Shop.Pay");
    check("java", "'function':'checkout'", "function", "checkout");
    check("node", "'function':'?'", "function", "<anonymous>");
    check("python", "", "function", "<anonymous>");
    check("native", "", "function", "(none)"); /* a debug file may name it later */
    check("cocoa", "'function':''", "function", "(none)");
}

static void languages_and_files(void **state) {
    (void)state;
    check("node", "", "language", "javascript");
    check("python", "", "language", "python");
    check("native", "", "language", "(none)");
    check("", "", "language", "(none)");
    check("a_platform_that_each_frame_would_copy", "", "language", "(none)");
    check("node", "'platform':'native'", "language", "(none)"); /* an addon's frame */
    check("node", "'filename':'a.js','abs_path':'/srv/a.js'", "file", "/srv/a.js");
    check("node", "'filename':'a.js'", "file", "a.js");
    check("node", "'abs_path':'file:///srv/a.mjs'", "file", "/srv/a.mjs");
    json_t *frame = one_frame("node", "'filename':'a.js','lineno':-4");
    assert_null(json_object_get(frame, "line"));
    json_decref(frame);
}

static void addresses(void **state) {
    (void)state;
    check("native", "'instruction_addr':'0x5010'", "offset", "0x10");
    check("native", "'instruction_addr':20496", "offset", "0x10");
    check("native", "'instruction_addr':'0x5fff'", "offset", "0xfff");
    check("native", "'instruction_addr':'0x6000'", "offset", "(none)");
    check("native", "'instruction_addr':'0x4fff'", "offset", "(none)");
    check("native", "'instruction_addr':'0xfffffffffffff010'", "offset", "0x10"); /* its end is no address */
    check("native", "'instruction_addr':-1", "pc", "0xffffffffffffffff");
    check("native", "'instruction_addr':'0x99999999999999999999'", "pc", "0x0"); /* no address is so long */
    check("native", "'instruction_addr':' 0x5010'", "pc", "0x0");
    check("native", "'instruction_addr':'18446744073709551615'", "pc", "0xffffffffffffffff");
    check("native", "'instruction_addr':'somewhere'", "pc", "0x0");
    check("native", "'instruction_addr':'0x5010'", "trust", "context");
    check("native", "'instruction_addr':'0x7010'", "trust", "(none)");
}

static void frames_are_innermost_first(void **state) {
    (void)state;
    json_t *event = sentry_json(sentry_node_error);
    const json_t *exception =
        json_array_get(json_object_get(json_object_get(event, "exception"), "values"), 0);
    json_t *frames = frames_of(event, json_object_get(exception, "stacktrace"));
    static const char *const names[] = {"chargeCard", "Timeout.checkout [as _onTimeout]", "listOnTimeout"};
    assert_int_equal(json_array_size(frames), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(sentry_text(json_array_get(frames, i), "function"), names[i]);
        assert_int_equal(json_is_true(json_object_get(json_array_get(frames, i), "in_app")), i < 2);
    }
    json_decref(frames);
    json_decref(event);
}

static void of_too_many_frames_the_innermost_stay(void **state) {
    (void)state;
    json_t *stack = json_object(), *from = json_array();
    json_object_set_new(stack, "frames", from);
    for (int i = 0; i < 1000; i++) {
        json_array_append_new(from, json_pack("{s:o}", "function", json_sprintf("f%d", i)));
    }
    json_t *frames = frames_of(stack, stack);
    assert_int_equal(json_array_size(frames), 256);
    assert_string_equal(sentry_text(json_array_get(frames, 0), "function"), "f999");
    assert_string_equal(sentry_text(json_array_get(frames, 255), "function"), "f744");
    json_decref(frames);
    json_decref(stack);
}

static void modules(void **state) {
    (void)state;
    json_t *event = sentry_json(sentry_native_crash), *all = sentry_stack_modules(event);
    const json_t *elf = json_array_get(all, 0), *macho = json_array_get(all, 1);
    assert_int_equal(json_array_size(all), 2);
    assert_string_equal(sentry_text(elf, "path"), "/opt/shop");
    assert_string_equal(sentry_text(elf, "build_id"),
                        "f1c3bcc0279865fe"); /* the whole one, not the debug id */
    assert_string_equal(sentry_text(elf, "base"), "0x5000");
    assert_string_equal(sentry_text(macho, "path"), "shop.dSYM");
    assert_string_equal(sentry_text(macho, "build_id"), "c0bcc3f19827fe653058404b2831d9e6");
    assert_string_equal(sentry_text(macho, "base"), "0x10000");
    assert_int_equal(json_integer_value(json_object_get(macho, "size")), 8192);
    json_decref(all);
    json_decref(event);
}

static void a_build_id_is_hex_of_64_digits_at_most(void **state) {
    (void)state;
    json_t *event = json_object(), *image = json_object();
    json_object_set_new(event, "debug_meta", json_pack("{s:[O]}", "images", image));
    json_object_set_new(image, "code_id", json_string("../AB;cd\n-0"));
    json_t *all = sentry_stack_modules(event);
    assert_string_equal(sentry_text(json_array_get(all, 0), "build_id"), "abcd0");
    json_decref(all);
    char text[201];
    memset(text, 'A', 200);
    text[200] = '\0';
    json_object_set_new(image, "code_id", json_string(text));
    all = sentry_stack_modules(event);
    assert_int_equal(strlen(sentry_text(json_array_get(all, 0), "build_id")), 64);
    json_decref(all);
    json_object_set_new(image, "code_id", json_string("zzz"));
    all = sentry_stack_modules(event);
    assert_null(json_object_get(json_array_get(all, 0), "build_id"));
    json_decref(all);
    json_decref(image);
    json_decref(event);
}

/* An index of a frame's module is one of the modules. */
static void look(void *to, const char *at) {
    const json_t *event = to, *stack = json_object_get(event, "stacktrace"), *frame;
    json_t *frames = frames_of(event, stack), *all = sentry_stack_modules(event);
    size_t i;
    assert_true(json_is_array(frames) && json_is_array(all));
    json_array_foreach(frames, i, frame) {
        const json_t *module = json_object_get(frame, "module");
        if (module != NULL && (size_t)json_integer_value(module) >= json_array_size(all)) {
            fail_msg("%s: frame %zu has no module", at, i);
        }
        assert_true(json_is_string(json_object_get(frame, "pc")));
    }
    char *text = json_dumps(frames, 0), *others = json_dumps(all, 0);
    assert_non_null(text);
    assert_non_null(others);
    free(text);
    free(others);
    json_decref(frames);
    json_decref(all);
}

static void members_of_other_types(void **state) {
    (void)state;
    json_t *event = sentry_json(sentry_native_crash);
    json_object_set(
        event, "stacktrace",
        json_object_get(json_array_get(json_object_get(json_object_get(event, "threads"), "values"), 1),
                        "stacktrace"));
    json_object_del(event, "threads");
    look(event, "as it is");
    sentry_each_odd(event, "", look, event);
    json_decref(event);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions),
        cmocka_unit_test(languages_and_files),
        cmocka_unit_test(addresses),
        cmocka_unit_test(frames_are_innermost_first),
        cmocka_unit_test(of_too_many_frames_the_innermost_stay),
        cmocka_unit_test(modules),
        cmocka_unit_test(a_build_id_is_hex_of_64_digits_at_most),
        cmocka_unit_test(members_of_other_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
