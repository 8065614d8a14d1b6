/* SPDX-License-Identifier: MIT
 *
 * Sentry's events and sessions as reports: real ones, and real ones with each member of another type.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/base/error.h"
#include "collector/base/built_in.h"
#include "collector/report/row.h"
#include "collector/sentry/sentry_report.h"
#include "sentry_events.h"

static json_t *schema;

static int set_up(void **state) {
    (void)state;
    json_t *reports = built_in_schema();
    schema = sentry_report_schema(reports);
    json_decref(reports);
    return schema != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    json_decref(schema);
    return 0;
}

static json_t *report_of(const json_t *event) {
    struct schema_fault fault;
    json_t *report = sentry_report_of_event(event, "23");
    if (report != NULL && !schema_fits(schema, report, &fault)) {
        char *text = json_dumps(report, 0);
        print_message("%s\n", text);
        fail_msg("%s %s", fault.at, fault.reason);
    }
    return report;
}

static json_t *report_of_text(const char *text) {
    json_t *event = sentry_json(text), *report = report_of(event);
    json_decref(event);
    return report;
}

static const json_t *frame(const json_t *report, size_t i) {
    return json_array_get(json_object_get(json_object_get(report, "hot_stack"), "frames"), i);
}

static void an_error_of_node(void **state) {
    (void)state;
    json_t *report = report_of_text(sentry_node_error);
    const json_t *app = json_object_get(report, "app"), *host = json_object_get(report, "host"),
                 *error = json_object_get(report, "error");
    assert_string_equal(sentry_text(report, "kind"), "error");
    assert_string_equal(sentry_text(report, "id"), "580ba058-a23e-42c6-bffd-d22c245fafd9");
    assert_string_equal(sentry_text(report, "started_at"), "2026-11-26T12:28:46.515000Z");
    assert_string_equal(sentry_text(app, "name"), "shop");
    assert_string_equal(sentry_text(app, "version"), "1.2");
    assert_string_equal(sentry_text(app, "environment"), "production");
    assert_string_equal(sentry_text(host, "os"), "linux");
    assert_string_equal(sentry_text(host, "arch"), "x86_64");
    assert_string_equal(sentry_text(host, "os_version"), "Debian 12.11");
    assert_string_equal(sentry_text(error, "type"), "TypeError");
    assert_string_equal(sentry_text(error, "what"), "no card");
    assert_true(json_is_true(json_object_get(error, "handled")));
    assert_string_equal(sentry_text(json_object_get(report, "cause"), "detail"), "TypeError: no card");
    assert_string_equal(sentry_text(frame(report, 0), "function"), "chargeCard");
    assert_string_equal(sentry_text(report, "sdk"), "sentry.javascript.node 11.12.0");
    json_decref(report);
}

static void a_hang_of_node_began_before_it_was_seen(void **state) {
    (void)state;
    char before[64], after[64];
    time_t now = time(NULL) - 1;
    struct tm tm;
    strftime(before, sizeof before, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
    json_t *report = report_of_text(sentry_node_hang);
    now = time(NULL);
    strftime(after, sizeof after, "%Y-%m-%dT%H:%M:%S.999999Z", gmtime_r(&now, &tm));
    assert_string_equal(sentry_text(report, "kind"), "hang");
    assert_int_equal(json_integer_value(json_object_get(report, "duration_ns")), 600000000);
    assert_true(strcmp(sentry_text(report, "started_at"), before) >= 0); /* without a time: now */
    assert_true(strcmp(sentry_text(report, "started_at"), after) <= 0);
    assert_string_equal(sentry_text(frame(report, 0), "function"), "resizeImage");
    json_decref(report);

    json_t *event = sentry_json(sentry_node_hang);
    json_object_set_new(event, "timestamp", json_string("2026-01-31T12:00:00.25Z"));
    report = report_of(event);
    assert_string_equal(sentry_text(report, "started_at"), "2026-01-31T11:59:59.650000Z");
    json_decref(report);
    json_decref(event);
}

static void an_error_of_python(void **state) {
    (void)state;
    json_t *report = report_of_text(sentry_python_error);
    const char *install = sentry_text(json_object_get(report, "app"), "install");
    assert_string_equal(sentry_text(json_object_get(report, "error"), "type"), "OSError");
    assert_null(json_object_get(json_object_get(report, "error"), "handled"));
    assert_string_equal(sentry_text(report, "started_at"), "2026-11-26T12:28:31.336071Z");
    assert_string_equal(sentry_text(frame(report, 0), "file"), "/srv/till.py");
    assert_int_equal(strlen(install), 16); /* hashed */
    assert_null(strstr(install, "ann"));
    assert_string_equal(sentry_text(json_object_get(report, "host"), "os"), "unknown");
    json_decref(report);
}

/* Of a user with this member alone; the caller frees it. */
static char *install_of(const char *user) {
    json_t *event = sentry_json(sentry_python_error);
    json_object_set_new(event, "user", sentry_json(user));
    json_t *report = report_of(event);
    char *install = strdup(sentry_text(json_object_get(report, "app"), "install"));
    json_decref(report);
    json_decref(event);
    return install;
}

static void users_are_counted_and_not_known(void **state) {
    (void)state;
    char *number = install_of("{'id':42}"), *text = install_of("{'id':'42','email':'ann@example.org'}"),
         *other = install_of("{'id':43}"), *email = install_of("{'email':'ann@example.org'}"),
         *none = install_of("{'id':true,'name':'ann'}");
    assert_string_equal(number, text);
    assert_string_not_equal(number, other);
    assert_string_not_equal(email, text);
    assert_string_equal(none, "(none)");
    free(number);
    free(text);
    free(other);
    free(email);
    free(none);
}

static void a_crash_has_the_stack_of_its_thread(void **state) {
    (void)state;
    json_t *report = report_of_text(sentry_native_crash);
    assert_string_equal(sentry_text(report, "kind"), "crash");
    assert_string_equal(sentry_text(report, "id"), "00112233-4455-6677-8899-aabbccddeeff");
    assert_string_equal(sentry_text(json_object_get(report, "crash"), "signal"), "SIGSEGV");
    assert_string_equal(sentry_text(frame(report, 0), "function"), "sell");
    assert_string_equal(sentry_text(json_object_get(report, "host"), "os"), "macos");
    assert_string_equal(sentry_text(json_object_get(report, "host"), "arch"), "aarch64");
    assert_int_equal(json_array_size(json_object_get(report, "modules")), 2);
    json_decref(report);
}

static void the_last_of_several_exceptions_counts(void **state) {
    (void)state;
    json_t *report = report_of_text("{'event_id':'580ba058a23e42c6bffdd22c245fafd9','exception':["
                                    "{'type':'Cause','value':'a'},{'type':'Outer','value':'b'}]}");
    assert_string_equal(sentry_text(json_object_get(report, "error"), "type"), "Outer");
    assert_string_equal(sentry_text(json_object_get(report, "app"), "name"), "project 23");
    json_decref(report);
}

static void what_is_no_error_is_no_report(void **state) {
    (void)state;
    assert_null(report_of_text("{'event_id':'580ba058a23e42c6bffdd22c245fafd9','message':'hello'}"));
    assert_null(
        report_of_text("{'exception':{'values':[{'value':'hello','mechanism':{'synthetic':true}}]}}"));
    for (size_t i = 0; i < SENTRY_ODD; i++) {
        assert_null(report_of_text(sentry_odd[i]));
    }
}

static void a_long_text_is_cut_at_a_character(void **state) {
    (void)state;
    json_t *event = sentry_json(sentry_node_error);
    json_t *exception = json_array_get(json_object_get(json_object_get(event, "exception"), "values"), 0);
    char text[4001] = "";
    for (size_t i = 0; i + 2 < sizeof text; i += 2) {
        memcpy(text + i, "\xc3\xa4", 3);
    }
    json_object_set_new(exception, "value", json_sprintf("x%s", text)); /* byte 1000 is within a character */
    json_t *report = report_of(event);
    assert_int_equal(strlen(sentry_text(json_object_get(report, "error"), "what")), 999);
    json_decref(report);
    json_decref(event);
}

static void an_id_that_is_none_is_no_path(void **state) {
    (void)state;
    static const char *const ids[] = {"''",
                                      "7",
                                      "null",
                                      "'../../etc/passwd'",
                                      "'580ba058a23e42c6bffdd22c245fafd'",
                                      "'580ba058a23e42c6bffdd22c245fafdg'",
                                      "'--------'"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        json_t *event = sentry_json(sentry_node_error);
        json_object_set_new(event, "event_id", sentry_json(ids[i]));
        json_t *report = sentry_report_of_event(event, "23");
        assert_string_equal(sentry_text(report, "id"), "");
        json_decref(report);
        json_decref(event);
    }
}

struct odd {
    const json_t *event;
    int fits, none;
};

/* It is a report by the schema, or none: nothing else comes out, whatever comes in. */
static void look(void *to, const char *at) {
    struct odd *odd = to;
    struct schema_fault fault;
    json_t *report = sentry_report_of_event(odd->event, "23");
    if (report == NULL) {
        odd->none++;
        return;
    }
    if (strcmp(at, "/event_id") != 0 && !schema_fits(schema, report, &fault)) {
        char *text = json_dumps(report, 0);
        print_message("%s\n", text);
        free(text);
        fail_msg("%s: %s %s", at, fault.at, fault.reason);
    }
    odd->fits++;
    char *text = json_dumps(report, JSON_COMPACT);
    struct row row;
    assert_non_null(text);
    row_make(text, strlen(text), schema, &row, &fault);
    row_free(&row);
    free(text);
    json_decref(report);
}

static void members_of_other_types(void **state) {
    (void)state;
    static const char *const events[] = {sentry_node_error, sentry_node_hang, sentry_python_error,
                                         sentry_native_crash};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        json_t *event = sentry_json(events[i]);
        struct odd odd = {.event = event};
        sentry_each_odd(event, "", look, &odd);
        print_message("event %zu: %d reports, %d none\n", i, odd.fits, odd.none);
        assert_true(odd.fits > 500);
        assert_true(odd.none > 0);
        json_decref(event);
    }
}

static void sessions(void **state) {
    (void)state;
    static const char session[] =
        "{'sid':'005279f6c6a44a8b934cf95fa17cb980','init':true,'started':'2026-11-26T12:28:46.198Z',"
        "'timestamp':'2026-11-26T12:28:48.565Z','status':'abnormal','errors':1,'duration':2.366,"
        "'abnormal_mechanism':'anr_foreground','attrs':{'release':'shop@1.2','environment':'production'}}";
    json_t *value = sentry_json(session), *report = sentry_report_of_session(value, "23");
    struct schema_fault fault;
    assert_true(schema_fits(schema, report, &fault));
    assert_string_equal(sentry_text(report, "kind"), "session");
    assert_string_equal(sentry_text(report, "id"), "005279f6-c6a4-4a8b-934c-f95fa17cb980");
    assert_int_equal(json_integer_value(json_object_get(report, "duration_ns")), 2366000000);
    json_decref(report);
    json_object_set_new(value, "duration", json_null());
    report = sentry_report_of_session(value, "23"); /* then by its two times */
    assert_in_range(json_integer_value(json_object_get(report, "duration_ns")), 2366000000, 2368000000);
    json_decref(report);
    json_object_set_new(value, "status", json_string("ok"));
    assert_null(sentry_report_of_session(value, "23"));
    json_decref(value);
}

static void look_session(void *to, const char *at) {
    struct odd *odd = to;
    struct schema_fault fault;
    json_t *report = sentry_report_of_session(odd->event, "23");
    odd->none += report == NULL;
    odd->fits += report != NULL;
    if (report != NULL && strcmp(at, "/sid") != 0 && !schema_fits(schema, report, &fault)) {
        fail_msg("%s: %s %s", at, fault.at, fault.reason);
    }
    json_decref(report);
}

static void sessions_of_other_types(void **state) {
    (void)state;
    json_t *value = sentry_json("{'sid':'005279f6c6a44a8b934cf95fa17cb980','started':'2026-11-26T12:28:46Z',"
                                "'timestamp':1795696126.5,'status':'exited','duration':2.366,"
                                "'attrs':{'release':'shop@1.2','environment':'production'}}");
    struct odd odd = {.event = value};
    sentry_each_odd(value, "", look_session, &odd);
    assert_true(odd.fits > 100);
    assert_true(odd.none > 10);
    json_decref(value);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_of_node),
        cmocka_unit_test(a_hang_of_node_began_before_it_was_seen),
        cmocka_unit_test(an_error_of_python),
        cmocka_unit_test(users_are_counted_and_not_known),
        cmocka_unit_test(a_crash_has_the_stack_of_its_thread),
        cmocka_unit_test(the_last_of_several_exceptions_counts),
        cmocka_unit_test(what_is_no_error_is_no_report),
        cmocka_unit_test(a_long_text_is_cut_at_a_character),
        cmocka_unit_test(an_id_that_is_none_is_no_path),
        cmocka_unit_test(members_of_other_types),
        cmocka_unit_test(sessions),
        cmocka_unit_test(sessions_of_other_types),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
