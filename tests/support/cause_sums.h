/* SPDX-License-Identifier: MIT
 *
 * For tests of causes: the sums of a turn, and evidence for them. Included after cmocka.h.
 */
#ifndef TEST_CAUSE_SUMS_H
#define TEST_CAUSE_SUMS_H

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "cause/cause.h"
#include "cause/rows.h"
#include "os/syscall_table.h"

#define MS HD_NS_PER_MS

static struct hd_cause_sums sums;
static struct hd_cause cause;

static inline int fresh(void **state) {
    (void)state;
    memset(&sums, 0, sizeof sums);
    return 0;
}

static inline struct hd_probe blocked(int32_t syscall_nr) {
    return (struct hd_probe){.for_ns = 50 * MS, .state = HD_RUN_BLOCKED, .syscall_nr = syscall_nr};
}

/* The call works on a descriptor of this kind, with the base name of a file. */
static inline void at_descriptor(struct hd_probe *p, enum hd_fd_kind kind, const char *file) {
    p->evidence = (struct hd_evidence){.kind = HD_EVIDENCE_DESCRIPTOR, .descriptor = {.kind = (uint8_t)kind}};
    snprintf(p->evidence.name, sizeof p->evidence.name, "%s", file);
}

/* The call waits for this lock. */
static inline void at_lock(struct hd_probe *p, struct hd_lock_seen lock) {
    p->evidence = (struct hd_evidence){.kind = HD_EVIDENCE_LOCK, .lock = lock};
}

static inline void add_times(struct hd_probe e, int times) {
    for (int i = 0; i < times; i++) {
        hd_cause_add(&sums, &e);
    }
}

static inline void assert_kind(enum hd_cause_kind kind) {
    hd_cause_decide(&sums, &cause);
    assert_string_equal(hd_words_cause(cause.kind), hd_words_cause(kind));
}

static inline enum hd_cause_kind kind_of(struct hd_probe e) {
    return hd_cause_of_block(&e);
}

/* The same of a call with a descriptor of this kind, or with none. */
static inline enum hd_cause_kind kind_on(int32_t nr, enum hd_run_state state, enum hd_fd_kind fd,
                                         bool child_alive) {
    struct hd_probe p = {.syscall_nr = nr, .state = state, .child = {.alive = child_alive}};
    if (fd != HD_FD_NONE) {
        at_descriptor(&p, fd, "");
    }
    return kind_of(p);
}

#endif
