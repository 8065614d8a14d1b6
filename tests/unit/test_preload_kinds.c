/* SPDX-License-Identifier: MIT
 *
 * What the kinds of a wait's descriptors say: a loop's, a call's, or nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "recognise/kinds.h"

/* By letters: o other, l loops, e eventfd, p pipe, P own pipe, s socket, S own socket, c connected, g gone.
 */
static enum hd_wait_evidence evidence(const char *letters, bool epoll) {
    static const char of[] = "olepPsScg";
    struct hd_kinds kinds = {.known = true, .epoll = epoll, .count = (uint32_t)strlen(letters)};
    for (uint32_t i = 0; i < kinds.count; i++) {
        kinds.kind[i] = (uint8_t)(strchr(of, letters[i]) - of);
    }
    return hd_kinds_evidence(&kinds);
}

static void only_a_loop_waits_for_some_kinds(void **state) {
    (void)state;
    assert_int_equal(evidence("l", false), HD_WAIT_EVIDENCE_BY_KIND);
    assert_int_equal(evidence("sl", false), HD_WAIT_EVIDENCE_BY_KIND);
    assert_int_equal(evidence("ess", false), HD_WAIT_EVIDENCE_BY_KIND); /* a waker beside others */
    assert_int_equal(evidence("Po", false), HD_WAIT_EVIDENCE_BY_KIND);
}

static void a_request_waits_for_one_descriptor_or_for_pipes(void **state) {
    (void)state;
    assert_int_equal(evidence("s", false), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(evidence("e", false), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(evidence("P", false), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(evidence("pPp", false), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(evidence("pe", false), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(evidence("ggg", false), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(evidence("Pgg", false), HD_WAIT_EVIDENCE_CALL);
}

static void the_rest_says_nothing(void **state) {
    (void)state;
    assert_int_equal(evidence("", false), HD_WAIT_EVIDENCE_PLAIN);
    assert_int_equal(evidence("ss", false), HD_WAIT_EVIDENCE_PLAIN);
    assert_int_equal(evidence("o", false), HD_WAIT_EVIDENCE_PLAIN);
    assert_int_equal(evidence("se", false), HD_WAIT_EVIDENCE_PLAIN);
}

static void an_epoll_instance_is_a_loops_unless_a_request_is_all_that_it_has(void **state) {
    (void)state;
    assert_int_equal(evidence("", true), HD_WAIT_EVIDENCE_BY_KIND);
    assert_int_equal(evidence("s", true), HD_WAIT_EVIDENCE_BY_KIND);
    assert_int_equal(evidence("S", true), HD_WAIT_EVIDENCE_BY_KIND);
    assert_int_equal(evidence("P", true), HD_WAIT_EVIDENCE_BY_KIND);
    assert_int_equal(evidence("c", true), HD_WAIT_EVIDENCE_CALL);
    assert_int_equal(evidence("pP", true), HD_WAIT_EVIDENCE_CALL);
}

static void kinds_that_are_not_known_say_nothing_but_that_there_is_an_epoll_instance(void **state) {
    (void)state;
    struct hd_kinds kinds = {.known = false, .epoll = true};
    assert_int_equal(hd_kinds_evidence(&kinds), HD_WAIT_EVIDENCE_BY_KIND);
    kinds = (struct hd_kinds){.known = false, .count = 1, .kind = {HD_KIND_CLOSED}};
    assert_int_equal(hd_kinds_evidence(&kinds), HD_WAIT_EVIDENCE_PLAIN);
    kinds = (struct hd_kinds){.library = true, .epoll = true};
    assert_int_equal(hd_kinds_evidence(&kinds), HD_WAIT_EVIDENCE_BY_NAME);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_loop_waits_for_some_kinds),
        cmocka_unit_test(a_request_waits_for_one_descriptor_or_for_pipes),
        cmocka_unit_test(the_rest_says_nothing),
        cmocka_unit_test(an_epoll_instance_is_a_loops_unless_a_request_is_all_that_it_has),
        cmocka_unit_test(kinds_that_are_not_known_say_nothing_but_that_there_is_an_epoll_instance),
    };
    return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
