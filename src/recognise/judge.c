/* SPDX-License-Identifier: MIT */
#include "recognise/judge.h"

void hd_judge_init(struct hd_judge *j, const char *option) {
    hd_rule_init(&j->rule);
    hd_loop_option_init(&j->option, option);
}

bool hd_judge_by_option(struct hd_judge *j) {
    if (j->option.seen) {
        hd_rule_overrule(&j->rule);
    }
    return hd_loop_option_is_set(&j->option);
}

void hd_judge_seen(struct hd_judge *j, const struct hd_wait_seen *w, bool blocks, uint64_t now_ns) {
    if (!hd_judge_by_option(j)) {
        hd_rule_seen(&j->rule, hd_rule_group_of(&j->rule, w), w, blocks, now_ns);
    }
}

void hd_judge_ended(struct hd_judge *j, const struct hd_wait_seen *w) {
    if (!hd_judge_by_option(j)) {
        hd_rule_waited(&j->rule, hd_rule_group_of(&j->rule, w), w);
    }
}

bool hd_judge_is_loops(struct hd_judge *j, const struct hd_wait_seen *w) {
    return hd_judge_by_option(j) ? w->stack.by_option : hd_rule_group_of(&j->rule, w) == j->rule.loop;
}

/* True: a server, whose loop waits in accept, waits for its client: for a request, or for the next one on the
 * same connection. The server is idle then. */
static bool is_for_client(const struct hd_judge *j, const struct hd_wait_seen *w) {
    const struct hd_rule_state *r = &j->rule;
    return w->kinds.accepted && r->loop != HD_RULE_NONE && r->group[r->loop].accepts;
}

enum hd_wait_verdict hd_judge_verdict(struct hd_judge *j, const struct hd_wait_seen *w) {
    if (is_for_client(j, w)) {
        return HD_WAIT_IDLE;
    }
    uint32_t group = !hd_judge_by_option(j) ? hd_rule_group_of(&j->rule, w)
                     : w->stack.by_option   ? j->rule.loop
                                            : HD_RULE_NONE;
    return hd_rule_verdict(&j->rule, group);
}

enum hd_record_certainty hd_judge_certainty(const struct hd_judge *j) {
    return hd_rule_certain(&j->rule)      ? HD_RECORD_LOOP_CERTAIN
           : hd_rule_is_valid(&j->rule)   ? HD_RECORD_LOOP_LIKELY
           : j->rule.loop != HD_RULE_NONE ? HD_RECORD_LOOP_DOUBTFUL
                                          : HD_RECORD_NO_LOOP;
}
