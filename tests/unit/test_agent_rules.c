/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include "agent/rules.h"

static const struct rule_facts nginx = {"nginx", "nginx.service", "", "", "", 33};
static const struct rule_facts shop = {"node", "docker-0a1b.scope", "0a1b", "shop", "registry/shop:2", 1000};

static struct rules make(const char *const *lines, size_t count) {
    struct rules r = {0};
    struct problem why;
    for (size_t i = 0; i < count; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s", lines[i]);
        assert_true(rules_add_line(&r, text, (unsigned)i + 1, &why));
    }
    return r;
}

static unsigned line_of(const struct rules *r, const struct rule_facts *facts) {
    const struct rule *rule = rules_find(r, facts);
    return rule != NULL ? rule->line : 0;
}

static void the_first_rule_that_matches_decides(void **state) {
    static const char *const lines[] = {"# a comment",
                                        "ignore program=bash",
                                        "watch unit=nginx threshold=200ms app=front",
                                        "ignore user=33",
                                        "ignore container=shop # by name",
                                        ""};
    struct rules r = make(lines, sizeof lines / sizeof lines[0]);
    struct rule_facts other = nginx;
    (void)state;
    assert_int_equal(line_of(&r, &nginx), 3);
    assert_int_equal(rules_find(&r, &nginx)->threshold_ns, 200000000);
    assert_string_equal(rules_find(&r, &nginx)->app, "front");
    other.unit = "other.service";
    assert_int_equal(line_of(&r, &other), 4);
    assert_int_equal(line_of(&r, &shop), 5);
    other.user = 0;
    assert_int_equal(line_of(&r, &other), 0);
    assert_true(rules_watch(NULL, "nginx"));
    assert_false(rules_watch(NULL, "hangdog-serve"));
    assert_true(rules_watch(rules_find(&r, &nginx), "hangdog-serve"));
    rules_free(&r);
}

static void patterns_match_ids_names_and_images(void **state) {
    static const char *const lines[] = {"watch container=registry/*", "ignore container=*"};
    struct rules r = make(lines, 2);
    struct rule_facts other = shop;
    (void)state;
    assert_int_equal(line_of(&r, &shop), 1);
    other.image = "";
    assert_int_equal(line_of(&r, &other), 2);
    assert_int_equal(line_of(&r, &nginx), 0); /* no container */
    rules_free(&r);
}

static void wrong_lines_are_named(void **state) {
    static const struct {
        const char *line, *why;
    } cases[] = {
        {"look program=x", "want 'watch' or 'ignore', not 'look'"},
        {"watch nginx", "want NAME=VALUE, not 'nginx'"},
        {"watch colour=red", "unknown word 'colour'"},
        {"watch threshold=1ms", "threshold '1ms': want 10ms to 1h, as 2s"},
        {"watch user=no-such-user-here", "there is no user 'no-such-user-here'"},
        {"watch app=../x", "want a name, not the path '../x'"},
        {"watch app=.x", "'.x' is no name for a folder"},
        {"watch program=/usr/sbin/nginx", "want a name, not the path '/usr/sbin/nginx'"},
        {"ignore program=x threshold=1s", "'ignore' takes no threshold, app, version, environment or loop"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rules r = {0};
        struct problem why;
        char text[200];
        snprintf(text, sizeof text, "%s", cases[i].line);
        assert_false(rules_add_line(&r, text, 1, &why));
        assert_string_equal(why.text, cases[i].why);
        assert_int_equal(r.count, 0);
        rules_free(&r);
    }
}

static void rules_without_effect_are_found(void **state) {
    static const char *const lines[] = {"ignore program=bash",
                                        "watch user=33 unit=nginx app=front",
                                        "watch container=shop",
                                        "watch program=bash user=33",
                                        "ignore user=33 unit=nginx program=nginx",
                                        "ignore container=shop",
                                        "ignore user=33",
                                        "ignore program=ba*",
                                        "watch"};
    static const unsigned by[] = {0, 0, 0, 1, 2, 3, 0, 0, 0};
    struct rules r = make(lines, sizeof lines / sizeof lines[0]);
    (void)state;
    for (size_t i = 0; i < r.count; i++) {
        const struct rule *first = rules_covering(&r, &r.rule[i]);
        assert_int_equal(first != NULL ? first->line : 0, by[i]);
    }
    rules_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_matches_decides),
        cmocka_unit_test(patterns_match_ids_names_and_images),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test(rules_without_effect_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
