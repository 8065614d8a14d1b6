/* SPDX-License-Identifier: MIT
 *
 * For tests of the rule: waits made by hand. A wait is written as in a program: what it waits for, where it
 * stands on the stack, for how long. Its verdict is the one given while it lasts.
 */
#ifndef RULE_BY_HAND_H
#define RULE_BY_HAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recognise/rule.h"

#define MS HD_NS_PER_MS
#define EPOLL HD_OBJECT_EPOLL
#define MAIN_SP 0x7fff0000u /* of the loop's own place in most tests */

static struct hd_rule_state rule;
static uint64_t now_ns, order;

static inline int start(void **state) {
    (void)state;
    now_ns = HD_NS_PER_S;
    order = 0;
    hd_rule_init(&rule);
    return 0;
}

/* Up to four objects; 0 is none. */
static inline struct hd_set set_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    struct hd_set s = {.count = 0};
    const uint64_t object[] = {a, b, c, d};
    for (unsigned i = 0; i < 4; i++) {
        if (object[i] != 0) {
            hd_rule_set_add(&s, object[i]);
        }
    }
    return s;
}

static inline enum hd_wait_verdict wait_seen(const struct hd_seen_wait *w, uint64_t ms) {
    uint32_t group = hd_rule_group_of(&rule, w);
    enum hd_wait_verdict verdict = hd_rule_verdict(&rule, group);
    now_ns += ms * MS;
    hd_rule_waited(&rule, group, w, ms * MS, 1, ++order, now_ns);
    return verdict;
}

static inline enum hd_wait_verdict wait_at(struct hd_set set, uint64_t place, uint64_t sp, uint64_t ms) {
    struct hd_seen_wait w = {.set = set, .at = {.place = place, .sp = sp}};
    return wait_seen(&w, ms);
}

static inline enum hd_wait_verdict wait_asking(struct hd_set set, uint64_t place, uint64_t sp, uint64_t ms) {
    struct hd_seen_wait w = {.set = set, .at = {.place = place, .sp = sp}, .evidence = HD_EVIDENCE_ASKS};
    return wait_seen(&w, ms);
}

#define LOOP_SET set_of(100, 200, 300, 0)
#define LOOP_PLACE 1u

static inline enum hd_wait_verdict loop_waits(uint64_t ms) {
    return wait_at(LOOP_SET, LOOP_PLACE, MAIN_SP, ms);
}

/* A loop that has waited for as long, so that it is known. */
static inline void a_loop_of(uint64_t seconds) {
    for (uint64_t i = 0; i < 10; i++) {
        loop_waits(seconds * 100);
    }
    assert_int_equal(loop_waits(100), HD_WAIT_IDLE);
}

#endif
