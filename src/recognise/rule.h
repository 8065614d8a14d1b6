/* SPDX-License-Identifier: MIT
 *
 * The rule that decides which wait is the loop's own. Pure: the input is values of waits, so the same code
 * judges live waits and recorded waits. No allocation. docs/loop-recognition.md explains the rule and has the
 * measurements behind it.
 */
#ifndef HD_RULE_H
#define HD_RULE_H

#include "loop/wait_verdict.h"
#include "recognise/wait_seen.h"

#define HD_RULE_GROUPS 32u
#define HD_RULE_NONE UINT32_MAX

/* A group of waits that belong together: the loop's waits, or those of one blocking call of the program. */
struct hd_rule_group {
    bool used;       /* false: this element of the array is free */
    bool seen;       /* true once a wait of the group blocked, or came while no loop was known */
    int8_t evidence; /* enum hd_wait_evidence: the highest that a wait of the group gave */
    /* enum hd_wait_enclosed, if it is equal for all waits of the group. Otherwise HD_ENCLOSED_UNKNOWN. */
    uint8_t enclosed;
    struct hd_group_files {
        struct hd_set common; /* the files that all waits of the group have in common */
        uint32_t fewest;      /* the number of files in the smallest set of the group's waits */
        bool closed;          /* true once all files of `common` are closed */
    } files;
    struct hd_group_sites {
        /* The outermost call site of the group's waits. If several are equally far out, the latest one. */
        struct hd_call_site own;
        struct hd_call_site last; /* the call site of the group's last wait */
    } sites;
    struct hd_group_returns {
        /* True once the group has waited inside another group's turn. Its waits then count as a blocking call
         * for ever. */
        bool inner;
        /* True once `sites.own` has waited again, and no group farther out has waited in between. */
        bool returned;
        bool from_long_turn; /* true once the group has waited again after a turn of 200 ms or more */
    } returns;
    struct hd_group_sums {
        uint64_t waits, waited_ns;
    } sums;
    /* The thread numbers its waits in their order. */
    struct hd_group_order {
        /* The number of the group's first wait. If known, the time when this wait began instead. */
        uint64_t first;
        uint64_t last;     /* the number of the group's last wait */
        uint64_t last_own; /* the number of the group's last wait from `sites.own` */
    } order;
    uint64_t last_ns; /* the time when the group's last wait ended */
};

struct hd_rule_state {
    struct hd_rule_group group[HD_RULE_GROUPS];
    uint32_t loop; /* index of the loop's group in `group`; HD_RULE_NONE: no loop is known */
    /* The number of times that `loop` has changed. Each change makes all earlier verdicts void. */
    uint64_t changes;
    bool certain;
    /* Start of the time in which `loop` is the loop and the thread does not block outside of the loop's
     * turn. */
    uint64_t since_ns;
    struct hd_rule_outside {
        /* true: since the loop last waited, the thread has blocked outside of the loop's turn */
        bool blocked;
        /* True from such a block on, until the loop has waited again and 10 s have passed without another
         * block. */
        bool recently;
        /* True: since the loop last waited, the thread has waited without the loop's function on its
         * stack. */
        bool waited;
    } outside;
};

void hd_rule_init(struct hd_rule_state *r);

/* Returns the index of the wait's group. Makes a group if none fits. HD_RULE_NONE: the wait has no group. It
 * is a request, or it has no descriptors and its call site is no group's. */
uint32_t hd_rule_group_of(struct hd_rule_state *r, const struct hd_wait_seen *w);

/* The thread has begun a wait of a new kind (wait_seen.h). If the wait gives evidence, its group can
 * become the loop at once. `blocks`: false if the timeout is zero. Such a wait counts only while no loop
 * is known. */
void hd_rule_seen(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w, bool blocks,
                  uint64_t now_ns);

/* The thread is in a wait of the loop now, so it has returned to the loop. This may make the loop certain. */
void hd_rule_waits_again(struct hd_rule_state *r, uint64_t now_ns);

/* Waits of this group have ended. w->times has their number and their time. */
void hd_rule_waited(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w);

/* All files that the loop's waits have in common are closed. So the loop is over, or it waits for new
 * files. */
void hd_rule_closed(struct hd_rule_state *r);

/* True: the program has left the loop. Either it waits without the loop's function on its stack, or the
 * loop's files are closed. The running turn is not a hang, however long it lasts. */
bool hd_rule_is_over(const struct hd_rule_state *r);

/* The thread idles outside of the loop's turn, for example because another thread serves the loop's events.
 * The loop is then not certain. */
void hd_rule_idles_outside(struct hd_rule_state *r);

/* The thread is blocked at the call site `at`, in a call that is not a wait for events. */
void hd_rule_blocked_at(struct hd_rule_state *r, const struct hd_call_site *at);

/* True if `set` has one of the files that the group's waits have in common. Also true if `set` is empty. */
bool hd_rule_shares(const struct hd_rule_state *r, uint32_t group, const struct hd_set *set);

/* Returns the verdict on a wait of this group. `group` may be HD_RULE_NONE. */
enum hd_wait_verdict hd_rule_verdict(const struct hd_rule_state *r, uint32_t group);

/* From now on the user's option --loop decides. So a loop is known, and it is certain. */
void hd_rule_overrule(struct hd_rule_state *r);

/* A loop with evidence is certain once its own call site waits again. Any loop is certain 10 s after it
 * became the loop. */
static inline bool hd_rule_certain(const struct hd_rule_state *r) {
    return r->certain;
}

/* True: the loop has evidence, and the thread has not left it. A hang of 5 s is then reported before the loop
 * is certain. */
static inline bool hd_rule_has_evidence(const struct hd_rule_state *r) {
    return r->loop != HD_RULE_NONE && r->group[r->loop].evidence > HD_WAIT_EVIDENCE_PLAIN &&
           !r->outside.recently;
}

/* True: hangs of the loop count if the program ends now. The loop is certain, has evidence, or has waited
 * again after a long turn. */
static inline bool hd_rule_is_valid(const struct hd_rule_state *r) {
    return r->certain || hd_rule_has_evidence(r) ||
           (r->loop != HD_RULE_NONE && r->group[r->loop].returns.from_long_turn && !r->outside.recently);
}

#endif
