/* SPDX-License-Identifier: MIT
 *
 * The state of the rule for one thread, stored small. A whole struct hd_judge has room for 32 groups of
 * waits, some 9 KB; nearly all threads have one or two. No thread-locals; one thread.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_RULE_H
#define CLI_OUTSIDE_RECOGNISE_RULE_H

#include "recognise/judge.h"

struct outside_rule {
    const char *option; /* the value of --loop; empty: none */
    bool by_option;     /* a wait has matched the option */
    struct hd_rule_group *group;
    uint32_t groups, loop;
    uint64_t changes, since_ns;
    bool certain;
    struct hd_rule_outside outside;
};

/* `option` must stay valid. */
void outside_rule_init(struct outside_rule *stored, const char *option);
void outside_rule_free(struct outside_rule *stored);

/* Makes the whole state, for the functions of recognise/judge.h. */
void outside_rule_open(const struct outside_rule *stored, struct hd_judge *j);
/* Stores the changed state. Without memory for a new group the state stays as it was stored. */
void outside_rule_close(struct outside_rule *stored, const struct hd_judge *j);

#endif
