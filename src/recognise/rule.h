/* SPDX-License-Identifier: MIT
 *
 * The rule: which wait is the loop's own. Pure: values of waits drive it, so that the same code judges live
 * waits and recorded ones. No allocation. docs/loop-recognition.md has the rule in words, and the figures
 * behind it.
 */
#ifndef HD_RULE_H
#define HD_RULE_H

#include "loop/wait_verdict.h"
#include "recognise/wait_seen.h"

#define HD_RULE_GROUPS 32u
#define HD_RULE_NONE UINT32_MAX

/* Waits that belong together: the loop, or one blocking call of the program. */
struct hd_rule_group {
    bool used;        /* false: a free slot */
    bool seen;        /* one of the waits blocked, or came while there was no loop */
    int8_t evidence;  /* enum hd_wait_evidence: the highest that a wait had */
    uint8_t enclosed; /* enum hd_wait_enclosed: of all its waits, else HD_ENCLOSED_UNKNOWN */
    struct hd_group_files {
        struct hd_set common; /* all its waits are for these */
        uint32_t fewest;      /* number of files of the wait that had the fewest */
        bool closed;          /* none of `common` is open any more */
    } files;
    struct hd_group_sites {
        struct hd_call_site own;  /* the outermost call site; of several the latest */
        struct hd_call_site last; /* the call site of the last wait */
    } sites;
    struct hd_group_returns {
        bool inner;          /* waited inside another group's turn, so it is a blocking call from now on */
        bool returned;       /* its own call site waited again, and no outer group did in between */
        bool from_long_turn; /* waited again after a turn of 200 ms or more */
    } returns;
    struct hd_group_sums {
        uint64_t waits, waited_ns;
    } sums;
    struct hd_group_order { /* numbers of waits, among all of the thread's */
        uint64_t first;     /* the first wait; or the time at which it began, where that is known */
        uint64_t last;
        uint64_t last_own; /* the last wait from its own call site */
    } order;
    uint64_t last_ns; /* when the last wait ended */
};

struct hd_rule_state {
    struct hd_rule_group group[HD_RULE_GROUPS];
    uint32_t loop;     /* index of the loop's group, or HD_RULE_NONE */
    uint64_t changes;  /* how often `loop` has changed: each change makes earlier verdicts void */
    bool certain;      /* only by succession can another group become the loop */
    uint64_t since_ns; /* since then this is the loop, and the thread has not left its turn */
    struct hd_rule_outside {
        bool blocked;  /* since the loop waited, the thread has blocked outside of the loop's turn */
        bool recently; /* the same; but ends only when the loop has been the loop for 10 s since then */
        bool waited;   /* since the loop waited, the thread has waited where the loop's function is not on
                          the stack */
    } outside;
};

void hd_rule_init(struct hd_rule_state *r);

/* The group of a wait; makes one if none fits. HD_RULE_NONE: a request, or a sleep at a call site of no
 * group. */
uint32_t hd_rule_group_of(struct hd_rule_state *r, const struct hd_wait_seen *w);

/* The first wait of this kind begins. With evidence its group is the loop at once. `blocks`: false for a zero
 * timeout, which counts only while there is no loop. */
void hd_rule_seen(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w, bool blocks,
                  uint64_t now_ns);

/* The thread is in a wait of the loop's now, so the loop has returned to it. */
void hd_rule_waits_again(struct hd_rule_state *r, uint64_t now_ns);

/* Waits of this group have ended; w->times counts them. */
void hd_rule_waited(struct hd_rule_state *r, uint32_t group, const struct hd_wait_seen *w);

/* All files that the loop's waits have in common are closed: it can only wait for others. */
void hd_rule_closed(struct hd_rule_state *r);

/* The program has left the loop: it waits outside of the loop's function, or the loop's files are closed. The
 * running turn is not a hang then, however long it lasts. */
bool hd_rule_is_over(const struct hd_rule_state *r);

/* The thread idles outside of the loop's turn: another thread serves the loop's events. */
void hd_rule_idles_outside(struct hd_rule_state *r);

/* The thread is blocked here, in a call that is not one of the waits. */
void hd_rule_blocked_at(struct hd_rule_state *r, const struct hd_call_site *at);

/* True if these files include one that all waits of the group are for. */
bool hd_rule_shares(const struct hd_rule_state *r, uint32_t group, const struct hd_set *set);

/* The verdict on a wait of this group, or of HD_RULE_NONE. */
enum hd_wait_verdict hd_rule_verdict(const struct hd_rule_state *r, uint32_t group);

/* The user's option decides from now on: there is a loop, and it is certain. */
void hd_rule_overrule(struct hd_rule_state *r);

/* A loop with evidence is certain once its own call site waits again, any other after 10 s. */
static inline bool hd_rule_certain(const struct hd_rule_state *r) {
    return r->certain;
}

/* The loop has evidence, and the thread has not left it: a freeze is reported before the loop is certain. */
static inline bool hd_rule_has_evidence(const struct hd_rule_state *r) {
    return r->loop != HD_RULE_NONE && r->group[r->loop].evidence > HD_WAIT_EVIDENCE_PLAIN &&
           !r->outside.recently;
}

/* If the program ends now, hangs of the loop count: it is certain, has evidence, or returned from a long
 * turn. */
static inline bool hd_rule_is_valid(const struct hd_rule_state *r) {
    return r->certain || hd_rule_has_evidence(r) ||
           (r->loop != HD_RULE_NONE && r->group[r->loop].returns.from_long_turn && !r->outside.recently);
}

#endif
