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
#define EPOLL HD_FILE_EPOLL
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

/* Up to four open files; 0 stands for no file. */
static inline struct hd_set set_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    struct hd_set s = {.count = 0};
    const uint64_t file[] = {a, b, c, d};
    for (unsigned i = 0; i < 4; i++) {
        if (file[i] != 0) {
            hd_set_add(&s, file[i]);
        }
    }
    return s;
}

/* The same wait with functions on its stack, or descriptors, that are this evidence. */
static inline struct hd_wait_seen with_evidence(struct hd_wait_seen w, enum hd_wait_evidence e) {
    if (e == HD_WAIT_EVIDENCE_BY_KIND) {
        w.kinds = (struct hd_kinds){.known = true, .epoll = true};
    } else if (e == HD_WAIT_EVIDENCE_CALL) {
        w.kinds = (struct hd_kinds){.known = true, .count = 1, .kind = {HD_KIND_PIPE}};
    } else {
        w.stack.names = (int8_t)e;
    }
    assert_int_equal(hd_wait_seen_evidence(&w), e);
    return w;
}

static inline enum hd_wait_verdict wait_seen(const struct hd_wait_seen *w, uint64_t ms) {
    struct hd_wait_seen over = *w;
    uint32_t group = hd_rule_group_of(&rule, w);
    enum hd_wait_verdict verdict = hd_rule_verdict(&rule, group);
    now_ns += ms * MS;
    over.times.waits = 1;
    over.times.waited_ns = ms * MS;
    over.times.order = ++order;
    over.times.ended_ns = now_ns;
    hd_rule_waited(&rule, group, &over);
    return verdict;
}

static inline enum hd_wait_verdict wait_at(struct hd_set set, uint64_t place, uint64_t sp, uint64_t ms) {
    struct hd_wait_seen w = {.set = set, .at = {.stack_hash = place, .sp = sp}};
    return wait_seen(&w, ms);
}

static inline enum hd_wait_verdict wait_asking(struct hd_set set, uint64_t place, uint64_t sp, uint64_t ms) {
    struct hd_wait_seen w = {.set = set, .at = {.stack_hash = place, .sp = sp}};
    w = with_evidence(w, HD_WAIT_EVIDENCE_REQUEST);
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
