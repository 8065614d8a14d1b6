/* SPDX-License-Identifier: MIT
 *
 * A thread that is blocked outside of the loop's wait. It may wait for its turn in the loop of a pool, or may
 * have left the loop.
 */
#include "cli/outside/recognise_private.h"

/* A thread that waits for its turn in the loop has up to so many frames more than in the loop's wait. */
#define SAME_TURN_FRAMES 4

void outside_look(struct outside_recogniser *r, const struct outside_source *s, uint64_t now_ns,
                  struct hd_hook_thread *seen) {
    for (uint32_t i = 0; i < r->kinds; i++) {
        const struct known_wait *known = &r->kind[i];
        if (known->used && known->verdict == HD_WAIT_IDLE && known->descriptors.epoll) {
            outside_parked_look(&r->parked, s->process, s->tid, known->descriptors.fd[0], now_ns, seen);
            return;
        }
    }
}

bool outside_was_parked(const struct outside_recogniser *r, const struct hd_hook_turn *turn) {
    return r->parked.turn_ns >= turn->start_ns - turn->earlier_ns && r->parked.turn_ns <= turn->end_ns;
}

/* The epoll instance that the blocked thread may wait to use. -1: none. */
static int32_t epoll_at(const struct outside_recogniser *r, uint32_t depth) {
    for (uint32_t i = 0; i < r->kinds; i++) {
        const struct known_wait *known = &r->kind[i];
        if (known->used && !known->pending && known->descriptors.epoll &&
            depth <= known->seen.at.depth + SAME_TURN_FRAMES && known->verdict != HD_WAIT_BUSY) {
            return known->descriptors.fd[0];
        }
    }
    return -1;
}

void outside_blocked(struct outside_recogniser *r, struct hd_blocked *how) {
    const struct hd_call_site at = {.sp = how->sp, .depth = how->depth};
    struct hd_judge j;
    if (how->in_turn && !how->served) {
        how->epoll = epoll_at(r, how->depth);
        how->parked = r->pool && how->epoll >= 0 && (r->parked_sp == 0 || r->parked_sp == how->sp);
        return;
    }
    if (r->pool) {
        r->parked_sp = how->served ? how->sp : r->parked_sp;
        return;
    }
    outside_rule_open(&r->rule, &j);
    if (!hd_judge_by_option(&j)) {
        if (how->served) {
            hd_rule_idles_outside(&j.rule);
        } else {
            hd_rule_blocked_at(&j.rule, &at);
        }
    }
    outside_rule_close(&r->rule, &j);
}
