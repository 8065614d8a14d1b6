/* SPDX-License-Identifier: MIT */
#include "monitor/limits.h"

/* From here on, a threshold says that the program wants no report of the state. */
#define NEVER_NS (30 * 24 * 3600 * HD_NS_PER_S)

hangdog_state hd_limits_state(const struct hd_monitor *m, const struct hd_look_state *s) {
    if (!s->launched) {
        return HANGDOG_STATE_LAUNCH;
    }
    if (atomic_load_explicit(&m->run->record->runner.quits, memory_order_relaxed) != 0) {
        return HANGDOG_STATE_QUIT;
    }
    uint32_t state = atomic_load_explicit(&m->run->channel.program.state, memory_order_relaxed);
    return state == HANGDOG_STATE_LAUNCH || state >= HANGDOG_STATES ? HANGDOG_STATE_FOREGROUND
                                                                    : (hangdog_state)state;
}

/* Returns how long a turn of this loop may last in this state. */
static uint64_t threshold_of(const struct hd_settings *settings, const struct hd_watch *w,
                             hangdog_state state) {
    bool own = state == HANGDOG_STATE_FOREGROUND && w->threshold_ns != 0;
    uint64_t ns = own ? w->threshold_ns : settings->threshold_ns[state];
    ns = ns < settings->threshold_max_ns ? ns : settings->threshold_max_ns;
    uint64_t system_ns = hd_limits_system_ns(state);
    return ns < system_ns || ns >= NEVER_NS ? ns : system_ns;
}

struct hd_limits hd_limits_of(const struct hd_monitor *m, const struct hd_look_state *s,
                              hangdog_state state) {
    const struct hd_settings *settings = &m->run->settings;
    struct hd_limits limits = {.interval_ns = settings->interval_ns,
                               .sample_ns = settings->interval_ns * (m->budget.over ? HD_BUDGET_SPREAD : 1),
                               .threshold_ns = threshold_of(settings, s->watch, state)};
    if (state == HANGDOG_STATE_LAUNCH) {
        limits.sample_until_ns = settings->sample_launch_ns;
    } else if (atomic_load_explicit(&s->watch->loop.frames.presented, memory_order_relaxed) != 0) {
        limits.frame_ns = settings->frame_drop_ns;
    }
    return limits;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void hd_limits_look_often(struct hd_monitor *m, const struct hd_watch *w) {
    const struct hd_settings *settings = &m->run->settings;
    uint64_t least_ns = w->threshold_ns - 1; /* 0 means no limit: the unsigned 0 - 1 is the greatest number */
    for (unsigned state = 0; state < HANGDOG_STATES; state++) {
        least_ns = least(least_ns, settings->threshold_ns[state]);
    }
    least_ns = least(least_ns, settings->threshold_max_ns);
    /* frame_drop_ns 0 means no limit: the unsigned 0 - 1 is the greatest number */
    least_ns = least(least_ns, settings->frame_drop_ns - 1);
    least_ns = least_ns > 2 * HD_NS_PER_MS ? least_ns / 2 : HD_NS_PER_MS;
    m->look_ns = least(m->look_ns, least_ns);
}

void hd_limits_update(struct hd_monitor *m) {
    if (!atomic_load_explicit(&m->run->channel.program.limits_changed, memory_order_relaxed)) {
        return;
    }
    /* the flag is cleared before the limits are read, so that no change is missed */
    atomic_store(&m->run->channel.program.limits_changed, false);
    m->look_ns = m->run->settings.interval_ns;
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        hd_limits_look_often(m, w);
    }
}
