/* SPDX-License-Identifier: MIT */
#include "collector/upkeep/clock_trust.h"

#define DAY_MS INT64_C(86400000)

static bool is_near(int64_t a_ms, int64_t b_ms) {
    return a_ms - b_ms <= DAY_MS && b_ms - a_ms <= DAY_MS;
}

static enum clock_verdict trust(struct clock_trust *c, int64_t now_ms) {
    *c = (struct clock_trust){.seen_ms = now_ms};
    return CLOCK_TRUSTED;
}

enum clock_verdict clock_trust_look(struct clock_trust *c, int64_t now_ms, int64_t passed_ms) {
    if (c->seen_ms > 0 && is_near(now_ms, c->seen_ms + passed_ms)) {
        return trust(c, now_ms);
    }
    c->seen_ms += c->seen_ms > 0 ? passed_ms : 0;
    bool stays = c->waited_ms > 0 && is_near(now_ms, c->other_ms + passed_ms);
    c->waited_ms = stays ? c->waited_ms + passed_ms : 1;
    c->other_ms = now_ms;
    if (c->waited_ms > DAY_MS) {
        return trust(c, now_ms);
    }
    return stays ? CLOCK_WAITS : CLOCK_JUMPED;
}
