/* SPDX-License-Identifier: MIT
 *
 * Which wait is the loop's own? The rule, and nothing but the rule: pure, driven by what was seen of each
 * wait, so that the same code judges live waits and recorded ones. No allocation. docs/loop-recognition.md
 * says where it comes from.
 */
#ifndef HD_RULE_H
#define HD_RULE_H

#include "loop/loop.h"
#include "recognise/set.h"

#define HD_RULE_GROUPS 32u
#define HD_RULE_NONE UINT32_MAX

/* Where a wait stands. */
struct hd_call_site {
    uint64_t place; /* hash of all return addresses and stack pointers to the root; 0: not known */
    uint64_t sp;    /* stacks grow down, a deeper one is smaller */
    uint64_t base;  /* 0: on the thread's own stack; else of another (a coroutine's) where that begins, or
                       HD_BASE_UNKNOWN. All those are deeper than the thread's own; which of two is, nobody
                       knows */
    uint32_t depth; /* frames of the program's to the root; 0: not known */
};
#define HD_BASE_UNKNOWN 1u

/* What a wait by itself says about whether it is a loop's. The higher one wins. */
enum hd_wait_evidence {
    HD_EVIDENCE_ASKS = -2, /* a request-reply function is on its stack: never a loop's */
    HD_EVIDENCE_CALL = -1, /* by its descriptors a request or a read from a child: never a loop's */
    HD_EVIDENCE_PLAIN = 0, /* neither: what its group does later decides */
    HD_EVIDENCE_BY_KIND, /* for what only a loop waits for: an epoll instance, a timer, a listening socket */
    HD_EVIDENCE_BY_NAME, /* a known loop function calls it */
};

/* Whether a function that runs a loop to its end is on a wait's stack. */
enum hd_wait_enclosed {
    HD_ENCLOSED_UNKNOWN,
    HD_ENCLOSED,
    HD_NOT_ENCLOSED
};

/* A wait as the rule sees it. */
struct hd_seen_wait {
    struct hd_set set;
    struct hd_call_site at;
    uint8_t enclosed; /* enum hd_wait_enclosed */
    uint64_t first;   /* when the first one of these began; 0: not known */
    int8_t evidence;  /* enum hd_wait_evidence */
};

/* Waits that belong together. */
struct hd_rule_group {
    bool used;
    bool seen;        /* a wait of it was, and not only a look with zero timeout */
    bool inner;       /* it waited inside another group's turn: a blocking call, for good */
    bool returned;    /* its own place waited again, and its turn was not left in between */
    bool turned;      /* it waited again after a turn that was long */
    bool gone;        /* nothing that all its waits were for is open any more */
    int8_t evidence;  /* the best of its waits */
    uint8_t enclosed; /* what all of its waits are, else HD_ENCLOSED_UNKNOWN */
    struct hd_set common;
    uint32_t least;          /* objects that a wait of it had */
    struct hd_call_site own; /* the outermost place, of several the latest */
    uint64_t waited_ns;
    uint64_t waits;
    uint64_t first;    /* when its first wait began, or its order */
    uint64_t last;     /* order of its last wait, */
    uint64_t last_own; /* of the last from its own place */
    struct hd_call_site last_at;
    uint64_t last_ns; /* when its last wait ended */
};

struct hd_rule_state {
    struct hd_rule_group group[HD_RULE_GROUPS];
    uint32_t loop;     /* HD_RULE_NONE */
    bool certain;      /* no other group can be it but by succession */
    uint64_t since_ns; /* since when it has been the loop, and the thread has not left its turn */
    bool left;         /* the loop's turn: the thread has been blocked outside of it since */
    bool was_left;     /* and it has not been the loop for 10 s since then */
    bool outside;      /* since the loop waited, the thread has waited where the loop's function is not */
    uint64_t changes;  /* of `loop`: verdicts that were given before are void */
};

void hd_rule_init(struct hd_rule_state *r);

/* The group that a wait belongs to, a new one when there is none. HD_RULE_NONE: it belongs to none: it asks,
 * or waits for nothing where no group does. */
uint32_t hd_rule_group_of(struct hd_rule_state *r, const struct hd_seen_wait *w);

/* A wait of that group was seen for the first time, and may still last: with evidence the group is the loop
 * at once. `blocks`: false for a look with zero timeout, which counts only while there is no loop. */
void hd_rule_seen(struct hd_rule_state *r, uint32_t group, const struct hd_seen_wait *w, bool blocks,
                  uint64_t now_ns);

/* The loop's thread is in a wait of the loop's now, which has waited before: it returned. */
void hd_rule_waits_again(struct hd_rule_state *r, uint64_t now_ns);

/* `waits` waits of that group, `waited_ns` in all, the last of them the `order`-th wait of the thread, ended
 * at now_ns. From the wait's place; places of one group may differ. */
void hd_rule_waited(struct hd_rule_state *r, uint32_t group, const struct hd_seen_wait *w, uint64_t waited_ns,
                    uint64_t waits, uint64_t order, uint64_t now_ns);

/* What the loop's waits have in common is closed, all of it: it cannot wait again but for something else. */
void hd_rule_gone(struct hd_rule_state *r);

/* The program has left the loop since that waited: it waits outside of the loop's function, or what the loop
 * waits for is closed. The turn that goes on is no hang, however long it is. */
bool hd_rule_is_over(const struct hd_rule_state *r);

/* The thread idles now outside of the loop's turn. */
void hd_rule_left(struct hd_rule_state *r);

/* The thread is blocked there now, in none of the calls that are waits. */
void hd_rule_blocked_at(struct hd_rule_state *r, const struct hd_call_site *at);

/* A wait for these may be the group's: it has a descriptor in common with all of its waits. */
bool hd_rule_shares(const struct hd_rule_state *r, uint32_t group, const struct hd_set *set);

/* Of a wait in that group (or in none). Unknown while there is no loop. */
enum hd_wait_verdict hd_rule_verdict(const struct hd_rule_state *r, uint32_t group);

/* The user names the loop: the rule is not used any more, and the loop is certain. */
void hd_rule_overrule(struct hd_rule_state *r);

/* A loop with evidence is certain once its own place waits again, a plain one after 10 s. */
static inline bool hd_rule_certain(const struct hd_rule_state *r) {
    return r->certain;
}

/* The loop has evidence, and the thread has not left it: a freeze is reported before the loop is certain. */
static inline bool hd_rule_has_evidence(const struct hd_rule_state *r) {
    return r->loop != HD_RULE_NONE && r->group[r->loop].evidence > HD_EVIDENCE_PLAIN && !r->was_left;
}

/* It is the loop where the program ends now: it is certain, has evidence, or came back from a long turn. */
static inline bool hd_rule_stands(const struct hd_rule_state *r) {
    return r->certain || hd_rule_has_evidence(r) ||
           (r->loop != HD_RULE_NONE && r->group[r->loop].turned && !r->was_left);
}

#endif
