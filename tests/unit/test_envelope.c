/* SPDX-License-Identifier: MIT
 *
 * Sentry's envelopes: their items by length and by line, what is ignored and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <stdlib.h>

#include "chance.h"
#include "cli/base/error.h"
#include "collector/base/built_in.h"
#include "collector/receive/envelope.h"
#include "collector/sentry/sentry_report.h"
#include "sentry_events.h"

static json_t *schema;
static char *event; /* of node, as JSON */

static int set_up(void **state) {
    (void)state;
    json_t *reports = built_in_schema(), *value = sentry_json(sentry_node_error);
    schema = sentry_report_schema(reports);
    event = json_dumps(value, JSON_COMPACT);
    json_decref(reports);
    json_decref(value);
    return schema != NULL && event != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    json_decref(schema);
    free(event);
    return 0;
}

struct found {
    unsigned status;
    size_t reports, ignored, refused;
    char id[ENVELOPE_ID_BYTES];
};

static struct found read_bytes(const char *text, size_t bytes, bool is_event) {
    struct envelope e;
    const char *why = NULL;
    struct found f = {.status = envelope_read(NULL, text, bytes, is_event, "23", schema, &e, &why)};
    assert_true((f.status == 0) == (why == NULL));
    f.reports = e.in.count;
    f.ignored = e.ignored;
    f.refused = json_array_size(e.in.refused);
    snprintf(f.id, sizeof f.id, "%s", e.id);
    ingest_free(&e.in);
    return f;
}

static struct found read_text(const char *text) {
    return read_bytes(text, strlen(text), false);
}

static void check(const char *text, unsigned status, size_t reports, size_t ignored, size_t refused) {
    struct found f = read_text(text);
    if (f.status != status ||
        (status == 0 && (f.reports != reports || f.ignored != ignored || f.refused != refused))) {
        fail_msg("%.100s: status %u, %zu reports, %zu ignored, %zu refused", text, f.status, f.reports,
                 f.ignored, f.refused);
    }
}

static void an_item_by_its_length_and_by_its_line(void **state) {
    (void)state;
    char text[8192];
    snprintf(text, sizeof text, "{}\n{\"type\":\"event\",\"length\":%zu}\n%s\n", strlen(event), event);
    check(text, 0, 1, 0, 0);
    assert_string_equal(read_text(text).id, "580ba058a23e42c6bffdd22c245fafd9");
    snprintf(text, sizeof text, "{}\n{\"type\":\"event\",\"length\":%zu}\n%s", strlen(event),
             event); /* no end of line */
    check(text, 0, 1, 0, 0);
    snprintf(text, sizeof text, "{}\n{\"type\":\"event\"}\n%s\n\n\n{\"type\":\"attachment\"}\nx\n", event);
    check(text, 0, 1, 1, 0);
    snprintf(text, sizeof text, "{\"event_id\":\"AB-cd/../01\"}\n{\"type\":\"event\"}\n%s", event);
    assert_string_equal(read_text(text).id, "abcd01"); /* the envelope's comes first; hex is all that stays */
}

/* Bytes of an attachment are no items, whatever they look like. */
static void the_content_of_an_item_is_not_read_as_items(void **state) {
    (void)state;
    char inner[6000], text[8192];
    snprintf(inner, sizeof inner, "\n{\"type\":\"event\"}\n%s\n", event);
    snprintf(text, sizeof text,
             "{}\n{\"type\":\"attachment\",\"length\":%zu}\n%s\n{\"type\":\"session\"}\n{\"status\":\"ok\"}",
             strlen(inner), inner);
    check(text, 0, 0, 2, 0);
}

static void what_is_no_envelope(void **state) {
    (void)state;
    static const char *const bad[] = {"", "\n", "[]", "null", "{", "{}x\n", "7\n{\"type\":\"event\"}\n{}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check(bad[i], 400, 0, 0, 0);
    }
    check("{}", 0, 0, 0, 0);
    check("{}\n\n\n", 0, 0, 0, 0);
}

static void what_is_no_item(void **state) {
    (void)state;
    static const char *const bad[] = {"{}",
                                      "[]",
                                      "no JSON",
                                      "{\"type\":7}",
                                      "{\"type\":null,\"length\":0}",
                                      "{\"length\":3}\nabc",
                                      "{\"type\":\"event\",\"length\":-1}\n",
                                      "{\"type\":\"event\",\"length\":1}\n",
                                      "{\"type\":\"event\",\"length\":\"3\"}\nabc",
                                      "{\"type\":\"event\",\"length\":3.0}\nabc",
                                      "{\"type\":\"event\",\"length\":9223372036854775807}\nabc",
                                      "{\"type\":\"event\",\"length\":9223372036854775808}\nabc",
                                      "{\"type\":\"x\",\"length\":null}\nabc"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "{}\n%s", bad[i]);
        check(text, 400, 0, 0, 0);
    }
}

static void a_bad_event_costs_the_others_nothing(void **state) {
    (void)state;
    char text[16384];
    snprintf(
        text, sizeof text,
        "{}\n{\"type\":\"event\"}\n{\n{\"type\":\"event\"}\n%s\n{\"type\":\"event\"}\n[]\n{\"type\":\"event\"}\n"
        "{\"event_id\":\"x\",\"exception\":[{\"type\":\"E\"}]}\n",
        event);
    check(text, 0, 1, 1, 2);
}

static void too_many_events(void **state) {
    (void)state;
    size_t size = (size_t)4 << 20, n;
    char *text = malloc(size);
    assert_non_null(text);
    n = (size_t)snprintf(text, size, "{}\n");
    for (int i = 0; i < ENVELOPE_EVENTS_MAX + 2; i++) {
        n += (size_t)snprintf(text + n, size - n, "{\"type\":\"event\"}\n%s\n", event);
    }
    check(text, 0, ENVELOPE_EVENTS_MAX, 0, 2);
    n = (size_t)snprintf(text, size, "{}\n"); /* sessions that are large together */
    for (int i = 0; i < 3; i++) {
        n += (size_t)snprintf(text + n, size - n,
                              "{\"type\":\"session\"}\n{\"status\":\"ok\",\"x\":\"%0900000d\"}\n", 0);
    }
    check(text, 0, 0, 2, 1);
    free(text);
}

static void too_much_of_it(void **state) {
    (void)state;
    size_t size = (size_t)3 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, size, "{}\n");
    for (int i = 0; i < ENVELOPE_ITEMS_MAX; i++) {
        n += (size_t)snprintf(text + n, size - n, "{\"type\":\"attachment\",\"length\":0}\n\n");
    }
    check(text, 0, 0, ENVELOPE_ITEMS_MAX, 0);
    snprintf(text + n, size - n, "{\"type\":\"attachment\",\"length\":0}\n\n");
    check(text, 413, 0, 0, 0);
    n = (size_t)snprintf(text, size, "{}\n{\"type\":\"event\"}\n{\"x\":\"");
    memset(text + n, 'x', ENVELOPE_EVENT_MAX);
    snprintf(text + n + ENVELOPE_EVENT_MAX, 8, "\"}");
    check(text, 0, 0, 0, 1);
    n = (size_t)snprintf(text, size, "{}\n{\"type\":\"event\"}\n");
    memset(text + n, '[', 5000);
    text[n + 5000] = '\0';
    check(text, 0, 0, 0, 1);
    free(text);
}

static void an_older_clients_event(void **state) {
    (void)state;
    struct found f = read_bytes(event, strlen(event), true);
    assert_int_equal(f.status, 0);
    assert_int_equal(f.reports, 1);
    assert_string_equal(f.id, "580ba058a23e42c6bffdd22c245fafd9");
    f = read_bytes("{", 1, true);
    assert_int_equal(f.refused, 1);
    f = read_bytes("", 0, true);
    assert_int_equal(f.reports, 0);
}

static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    static const char bytes[] = "{}[]\"\\:,\n\0\xff 0-9e";
    char text[16384];
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "{}\n{\"type\":\"event\",\"length\":%zu}\n%s\n{\"type\":\"attachment\",\"length\":3}\nabc\n"
        "{\"type\":\"session\"}\n{\"status\":\"exited\",\"sid\":\"580ba058a23e42c6bffdd22c245fafd8\"}\n",
        strlen(event), event);
    struct found whole = read_bytes(text, n, false);
    assert_int_equal(whole.reports, 2);
    unsigned refused = 0;
    for (size_t cut = 0; cut <= n; cut++) {
        struct found f = read_bytes(text, cut, false);
        assert_true(f.reports <= 2 && f.ignored <= 3);
        refused += f.status != 0;
    }
    assert_true(refused > 100);
    for (int round = 0; round < 5000; round++) {
        size_t at = n > 0 ? any((uint32_t)n) : 0;
        char own = text[at];
        text[at] = bytes[any(sizeof bytes - 1)];
        struct found f = read_bytes(text, n, false);
        assert_true(f.status == 0 || f.status == 400 || f.status == 413);
        text[at] = own;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_by_its_length_and_by_its_line),
        cmocka_unit_test(the_content_of_an_item_is_not_read_as_items),
        cmocka_unit_test(what_is_no_envelope),
        cmocka_unit_test(what_is_no_item),
        cmocka_unit_test(a_bad_event_costs_the_others_nothing),
        cmocka_unit_test(too_many_events),
        cmocka_unit_test(too_much_of_it),
        cmocka_unit_test(an_older_clients_event),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
