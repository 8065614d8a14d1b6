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
    bool used; /* false: this element of the array is free */
    /* true once a wait of the group had a nonzero timeout, or came while no loop was known */
    bool seen;
    int8_t evidence; /* enum hd_wait_evidence: the highest evidence that a wait of the group gave */
    /* The enum hd_wait_enclosed that all waits of the group have. HD_ENCLOSED_UNKNOWN: it differs between the
     * waits, or is not known. */
    uint8_t enclosed;
    bool accepts; /* true: the waits are in accept */
    struct hd_group_files {
        struct hd_set common; /* the open files that all waits of the group have in common */
        uint32_t fewest;      /* the smallest number of files that a wait of the group had */
        bool closed;          /* true once all files of `common` are closed */
    } files;
    struct hd_group_sites {
        /* The call site of the group that is nearest to the root frame. If several are equally near, this is
         * the last one at which the thread waited. */
        struct hd_call_site own;
        struct hd_call_site last; /* the call site of the group's last wait */
    } sites;
    struct hd_group_returns {
        /* True once the thread has made a wait of this group inside the turn of another group. From that time
         * on the group's waits count as those of a blocking call. */
        bool inner;
        /* True once the thread has waited at `sites.own` again, and at no call site nearer to the root frame
         * in between. */
        bool returned;
        bool from_long_turn; /* true once the group has waited again after a turn of 200 ms or more */
    } returns;
    struct hd_group_sums {
        uint64_t waits, waited_ns;
    } sums;
    /* Numbers of waits. The thread numbers its waits in the order in which they end. */
    struct hd_group_order {
        /* The time when the group's first wait began. If this time is not known, the number of this wait. */
        uint64_t first;
        uint64_t last;     /* the number of the group's last wait */
        uint64_t last_own; /* the number of the group's last wait from `sites.own` */
    } order;
    uint64_t last_ns; /* the time when the group's last wait ended */
};

struct hd_rule_state {
    struct hd_rule_group group[HD_RULE_GROUPS];
    uint32_t loop; /* index of the loop's group in `group`; HD_RULE_NONE: no loop is known */
    /* The number of times that `loop` has changed. After a change, no earlier verdict is valid. */
    uint64_t changes;
    bool certain;
    /* The time when `loop` got its present value. If the thread has since been blocked outside of the loop's
     * turns, this is the end of the loop's next wait instead. */
    uint64_t since_ns;
    struct hd_rule_outside {
        /* true: since the loop's last wait, the thread has been blocked in a call outside of a turn */
        bool blocked;
        /* True once the thread has been blocked in a call outside of the loop's turns. False again 10 s after
         * the loop's next wait, unless the thread has been blocked outside again. */
        bool recently;
        /* True: since the loop's last wait, the thread has made a wait while the function that runs the loop
         * was not on its stack. */
        bool waited;
    } outside;
};

void hd_rule_init(struct hd_rule_state *r);

/* Returns the index of the wait's group. Makes a group if none fits. HD_RULE_NONE: the wait gets no group.
 * The reason is evidence of HD_WAIT_EVIDENCE_REQUEST, or no descriptors and a call site that no group has. */
uint32_t hd_rule_group_of(struct hd_rule_state *r, const struct hd_wait_seen *w);

/* Call this function after the thread has begun a wait of a new kind (wait_seen.h). If the wait gives
 * evidence, its group can become the loop at once. `blocks`: false if the wait's timeout is zero. While a
 * loop is known, a wait with zero timeout does not make its group a candidate for the loop. */
void hd_rule_seen(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w, bool blocks,
                  uint64_t now_ns);

/* Call this function while the thread is in a wait of the loop. The thread has returned to the loop, which
 * may make the loop certain. */
void hd_rule_waits_again(struct hd_rule_state *r, uint64_t now_ns);

/* Call this function after waits of the group with index `group` have ended. w->times has the number of these
 * waits and their total time. */
void hd_rule_waited(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w);

/* Call this function if all files that the loop's waits have in common are closed. The loop is then over, or
 * its waits are for new files. Nothing changes if the loop is not certain. */
void hd_rule_closed(struct hd_rule_state *r);

/* True if the program has left the loop. Either the thread has waited while the function that runs the loop
 * was not on its stack, or the loop's files are closed. In both cases the running turn is not a hang, however
 * long it lasts. */
bool hd_rule_is_over(const struct hd_rule_state *r);

/* Call this function if the thread idles outside of the loop's turns, for example because another thread
 * serves the loop's events. The loop is then no longer certain. */
void hd_rule_idles_outside(struct hd_rule_state *r);

/* Call this function if a sample shows the thread blocked at the call site `at`, in a call that is not a wait
 * for events. If `at` is outside of the loop's turn, the loop is no longer certain. */
void hd_rule_blocked_at(struct hd_rule_state *r, const struct hd_call_site *at);

/* True if `set` has one of the files that all waits of this group have in common. Also true if one of the two
 * sets is empty. False if `group` is HD_RULE_NONE. */
bool hd_rule_shares(const struct hd_rule_state *r, uint32_t group, const struct hd_set *set);

/* Returns the verdict on a wait of this group. `group` is HD_RULE_NONE if the wait has no group.
 * HD_WAIT_UNKNOWN: no loop is known. */
enum hd_wait_verdict hd_rule_verdict(const struct hd_rule_state *r, uint32_t group);

/* Makes a loop known and certain at once. The caller calls this function after a wait has matched the user's
 * option --loop, because the option then decides instead of the rule. */
void hd_rule_overrule(struct hd_rule_state *r);

/* True if the loop is certain. A loop with evidence becomes certain once the thread waits at the loop's own
 * call site again. Any loop becomes certain at a wait 10 s or more after since_ns. If the thread has recently
 * been blocked outside of the loop's turns, a loop with evidence needs these 10 s too. */
static inline bool hd_rule_certain(const struct hd_rule_state *r) {
    return r->certain;
}

/* True if the loop has evidence, and the thread has not recently been blocked outside of the loop's turns. If
 * this is true, a hang of 5 s or more is reported before the loop is certain. */
static inline bool hd_rule_has_evidence(const struct hd_rule_state *r) {
    return r->loop != HD_RULE_NONE && r->group[r->loop].evidence > HD_WAIT_EVIDENCE_PLAIN &&
           !r->outside.recently;
}

/* True: if the program ends now, reports of this loop's hangs stay valid. A certain loop is always valid.
 * Another loop needs evidence, or a wait that followed a long turn. In both cases the thread must not have
 * blocked recently in calls that are not this loop's. */
static inline bool hd_rule_is_valid(const struct hd_rule_state *r) {
    return r->certain || hd_rule_has_evidence(r) ||
           (r->loop != HD_RULE_NONE && r->group[r->loop].returns.from_long_turn && !r->outside.recently);
}

#endif
