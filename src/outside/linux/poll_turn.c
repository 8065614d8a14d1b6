/* SPDX-License-Identifier: MIT */
#include "outside/linux/poll_turn.h"

#define LATE_LOOKS 2 /* after so many times between looks, a look is late */

void hd_poll_turn_init(struct hd_poll_turn *t, uint64_t now_ns, uint64_t look_ns) {
    *t = (struct hd_poll_turn){.shown = {.since_ns = now_ns},
                               .last = {.at_ns = now_ns},
                               .waited_ns = now_ns,
                               .late_ns = LATE_LOOKS * look_ns};
}

bool hd_poll_turn_rests(const struct hd_poll_look *before, const struct hd_poll_look *now) {
    return before->blocked && hd_sched_known(&now->sched) && before->sched.slices == now->sched.slices &&
           before->sched.cpu_ns == now->sched.cpu_ns;
}

/* The thread has not been in its wait since the look before: it has not run, or a proof is older. */
static bool is_same_turn(const struct hd_poll_turn *t, const struct hd_poll_look *look) {
    bool proven = look->proven_ns != 0 && look->proven_ns <= t->last.at_ns;
    return !t->shown.waits && (proven || hd_poll_turn_rests(&t->last, look));
}

/* Since when the thread is surely in its turn. */
static uint64_t certain_since(const struct hd_poll_turn *t, const struct hd_poll_look *look) {
    uint64_t since_ns = look->at_ns;
    if (is_same_turn(t, look)) {
        since_ns = t->shown.since_ns;
    }
    return look->proven_ns != 0 && look->proven_ns < since_ns ? look->proven_ns : since_ns;
}

static void begin(struct hd_poll_turn *t, uint64_t since_ns) {
    struct hd_hook_thread *s = &t->shown;
    s->waits = false;
    s->since_ns = since_ns;
    s->earlier_ns = since_ns > t->waited_ns ? since_ns - t->waited_ns : 0;
}

static bool is_exact(const struct hd_poll_turn *t, const struct hd_poll_look *look) {
    return look->waits && look->blocked_ns != 0 && look->blocked_ns >= t->shown.since_ns;
}

/* When the turn of the look before ended. A late look is no proof that the turn lasted until then. */
static uint64_t end_of(const struct hd_poll_turn *t, const struct hd_poll_look *look) {
    uint64_t late_ns = t->last.at_ns + t->late_ns;
    return is_exact(t, look) ? look->blocked_ns : look->at_ns < late_ns ? look->at_ns : late_ns;
}

static void begin_wait(struct hd_poll_turn *t, const struct hd_poll_look *look) {
    struct hd_hook_thread *s = &t->shown;
    if (!s->waits) {
        bool exact = is_exact(t, look);
        s->waits = s->known = true;
        s->since_ns = exact ? look->blocked_ns : look->at_ns;
        s->earlier_ns = exact ? 0 : look->at_ns - t->last.at_ns;
    }
    t->waited_ns = look->at_ns;
}

static void count(struct hd_poll_turn *t, const struct hd_poll_look *look) {
    const struct hd_sched *a = &t->last.sched, *b = &look->sched;
    const uint64_t passed_ns = look->at_ns - t->last.at_ns;
    uint64_t busy_ns = b->cpu_ns - a->cpu_ns + b->delay_ns - a->delay_ns;
    bool known = hd_sched_known(a) && hd_sched_known(b) && b->slices >= a->slices;
    if (known && look->waits) { /* as far as looks show, it blocks in its wait after each turn */
        t->shown.turns += b->slices - a->slices;
    }
    busy_ns = !look->waits && look->blocked ? passed_ns : known ? busy_ns : 0;
    t->shown.busy_ns += busy_ns < passed_ns ? busy_ns : passed_ns;
}

bool hd_poll_turn_look(struct hd_poll_turn *t, const struct hd_poll_look *look, struct hd_hook_turn *ended) {
    struct hd_hook_thread *s = &t->shown;
    const bool was_in_turn = !s->waits, was_certain = was_in_turn && s->known && t->last.at_ns > s->since_ns;
    *ended = (struct hd_hook_turn){
        .start_ns = s->since_ns, .earlier_ns = s->earlier_ns, .end_ns = end_of(t, look)};
    count(t, look);
    bool over = was_in_turn;
    if (look->waits) {
        begin_wait(t, look);
    } else {
        uint64_t since_ns = certain_since(t, look);
        over = was_in_turn && since_ns > s->since_ns;
        if (!was_in_turn || since_ns != s->since_ns) { /* a proof may show an earlier start */
            begin(t, since_ns);
        }
        uint64_t age_ns = look->at_ns - s->since_ns;
        s->longest_ns = s->known && age_ns > s->longest_ns ? age_ns : s->longest_ns;
    }
    t->last = *look;
    return over && was_certain;
}
