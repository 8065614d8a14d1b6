/* SPDX-License-Identifier: MIT */
#include "cli/outside/recognise_rule.h"

#include <stdlib.h>
#include <string.h>

void outside_rule_init(struct outside_rule *stored, const char *option) {
    *stored = (struct outside_rule){.option = option, .loop = HD_RULE_NONE};
}

void outside_rule_free(struct outside_rule *stored) {
    free(stored->group);
    stored->group = NULL;
    stored->groups = 0;
}

void outside_rule_open(const struct outside_rule *stored, struct hd_judge *j) {
    hd_judge_init(j, stored->option);
    j->option.seen = stored->by_option;
    if (stored->groups != 0) {
        memcpy(j->rule.group, stored->group, stored->groups * sizeof *stored->group);
    }
    j->rule.loop = stored->loop;
    j->rule.changes = stored->changes;
    j->rule.since_ns = stored->since_ns;
    j->rule.certain = stored->certain;
    j->rule.outside = stored->outside;
}

/* The rule takes the first free group, and frees none. */
static uint32_t groups_of(const struct hd_rule_state *r) {
    uint32_t n = 0;
    while (n < HD_RULE_GROUPS && r->group[n].used) {
        n++;
    }
    return n;
}

void outside_rule_close(struct outside_rule *stored, const struct hd_judge *j) {
    const struct hd_rule_state *r = &j->rule;
    uint32_t n = groups_of(r);
    if (n > stored->groups) {
        struct hd_rule_group *more = realloc(stored->group, n * sizeof *more);
        if (more == NULL) {
            return;
        }
        stored->group = more;
        stored->groups = n;
    }
    if (n != 0) {
        memcpy(stored->group, r->group, n * sizeof *stored->group);
    }
    stored->by_option = j->option.seen;
    stored->loop = r->loop;
    stored->changes = r->changes;
    stored->since_ns = r->since_ns;
    stored->certain = r->certain;
    stored->outside = r->outside;
}
