/* SPDX-License-Identifier: MIT
 *
 * What people say of a group, and when a resolved one is seen again; and that the sums of pages are those of
 * the reports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/built_in.h"
#include "collector/store/store.h"

static char path[64];
static struct store *store;
static unsigned reports;

static int open_store(void **state) {
    struct problem why;
    (void)state;
    strcpy(path, "/tmp/hangdog-test-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    store = store_open(&(struct store_place){.url = path}, &why);
    assert_non_null(store);
    return 0;
}

static int close_store(void **state) {
    (void)state;
    store_close(store);
    return unlink(path);
}

/* A hang in f() of this version that began so many seconds ago. */
static void add(const char *version, int seconds_ago) {
    char text[2048], at[64];
    struct row row, *rows[] = {&row};
    struct schema_fault fault;
    json_t *schema = built_in_schema();
    time_t moment = time(NULL) - seconds_ago;
    struct tm tm;
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&moment, &tm));
    snprintf(
        text, sizeof text,
        "{\"format\":\"hangdog-report/1\",\"id\":\"00000000-0000-7000-8000-%012u\",\"kind\":\"hang\","
        "\"complete\":true,\"started_at\":\"%s\",\"duration_ns\":700000000,\"app\":{\"name\":\"shop\","
        "\"version\":\"%s\",\"pid\":7},\"host\":{\"os\":\"linux\",\"arch\":\"x86_64\"},\"process\":{},"
        "\"cause\":{\"kind\":\"cpu\"},\"modules\":[{\"path\":\"/opt/shop/shop\",\"base\":\"0x1000\","
        "\"size\":4096}],\"hot_stack\":{\"frames\":[{\"pc\":\"0x1010\",\"module\":0,\"function\":\"f\"}]}}",
        ++reports, at, version);
    assert_true(row_make(text, strlen(text), schema, &row, &fault));
    assert_int_equal(store_add(store, rows, 1), STORE_DONE);
    row_free(&row);
    json_decref(schema);
}

/* The only group of the overview. */
static json_t *group(void) {
    json_t *page = store_overview(store, &(struct store_group_filter){.app = "", .days = 30});
    json_t *only = json_incref(json_array_get(json_object_get(page, "groups"), 0));
    json_decref(page);
    assert_non_null(only);
    return only;
}

static void check(const char *state, bool regressed) {
    json_t *g = group();
    assert_string_equal(json_string_value(json_object_get(g, "state")), state);
    assert_int_equal(json_is_true(json_object_get(g, "regressed")), regressed);
    json_decref(g);
}

static void set(const char *state, const char *note) {
    json_t *g = group();
    assert_true(store_set_issue(store, json_string_value(json_object_get(g, "fingerprint")), state, note));
    json_decref(g);
}

static void a_resolved_group_that_comes_again_is_regressed(void **state) {
    (void)state;
    add("1.0", 5000);
    add("1.1", 4000);
    check("open", false);
    set("resolved", NULL);
    check("resolved", false);
    add("1.1", 3000); /* it was late on its way */
    check("resolved", false);
    add("1.0", 0); /* has no fix */
    check("resolved", false);
    add("1.2", 0);
    check("resolved", true);
    set("resolved", NULL); /* again, by 1.2 */
    check("resolved", false);
    set("ignored", NULL);
    add("1.3", 0);
    check("ignored", false);
}

static void a_note_is_kept_and_changes_no_state(void **state) {
    (void)state;
    add("1.0", 10);
    set("resolved", NULL);
    set(NULL, "see the cache");
    check("resolved", false);
    json_t *g = group(), *whole;
    whole = store_group(store, json_string_value(json_object_get(g, "fingerprint")));
    assert_string_equal(json_string_value(json_object_get(whole, "note")), "see the cache");
    assert_string_equal(json_string_value(json_object_get(whole, "resolved_in")), "1.0");
    assert_false(store_set_issue(store, "0123456789abcdef", "resolved", NULL));
    json_decref(whole);
    json_decref(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_resolved_group_that_comes_again_is_regressed, open_store,
                                        close_store),
        cmocka_unit_test_setup_teardown(a_note_is_kept_and_changes_no_state, open_store, close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
