/* SPDX-License-Identifier: MIT */
#include "collector/upkeep/retention.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DAY_MS INT64_C(86400000)

static bool is_near(int64_t a_ms, int64_t b_ms) {
    return a_ms - b_ms <= DAY_MS && b_ms - a_ms <= DAY_MS;
}

static enum clock_verdict trust(struct clock_trust *c, int64_t now_ms) {
    *c = (struct clock_trust){.seen_ms = now_ms};
    return CLOCK_TRUSTED;
}

enum clock_verdict retention_check_clock(struct clock_trust *c, int64_t now_ms, int64_t passed_ms) {
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

#define DAY_MS INT64_C(86400000)
#define HOUR_MS INT64_C(3600000)
#define REPORTS_OF_A_STEP 200
#define LOOKS_OF_A_STORE 60 /* with one a minute: no mistake empties a store in less than an hour */
#define CLOCK_SETTING "clock_seen"

long retention_days(struct store *store) {
    char value[STORE_SETTING_BYTES], *end;
    enum store_found found = store_setting_get(store, RETENTION_SETTING, value);
    if (found != STORE_FOUND) {
        return found == STORE_NONE ? RETENTION_DAYS : -1;
    }
    long days = strtol(value, &end, 10);
    return end != value && *end == '\0' && days >= 0 && days <= RETENTION_DAYS_MAX ? days : RETENTION_DAYS;
}

bool retention_set_days(struct store *store, long days) {
    char value[24];
    snprintf(value, sizeof value, "%ld", days);
    return store_setting_set(store, RETENTION_SETTING, value);
}

static int64_t clock_ms(clockid_t which) {
    struct timespec now;
    return clock_gettime(which, &now) == 0 ? (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 : 0;
}

static bool write_clock(struct store *store, const struct clock_trust *c) {
    char value[80];
    snprintf(value, sizeof value, "%" PRId64 " %" PRId64 " %" PRId64, c->seen_ms, c->other_ms, c->waited_ms);
    return store_setting_set(store, CLOCK_SETTING, value);
}

bool retention_start(struct store *store) {
    return write_clock(store, &(struct clock_trust){.seen_ms = clock_ms(CLOCK_REALTIME)});
}

/* False: the store failed. A text that is not a clock's counts as no time, so that the clock must stay for a
 * day. */
static bool read_clock(struct retention *r, struct store *store) {
    char value[STORE_SETTING_BYTES];
    if (r->has_clock) {
        return true;
    }
    enum store_found found = store_setting_get(store, CLOCK_SETTING, value);
    if (found == STORE_FOUND && sscanf(value, "%" SCNd64 " %" SCNd64 " %" SCNd64, &r->clock.seen_ms,
                                       &r->clock.other_ms, &r->clock.waited_ms) != 3) {
        r->clock = (struct clock_trust){0};
    }
    r->stored = r->clock;
    r->has_clock = found != STORE_UNREAD;
    return r->has_clock;
}

/* An idle collector writes once an hour, not at each look. */
static void keep_clock(struct retention *r, struct store *store) {
    const struct clock_trust *now = &r->clock, *was = &r->stored;
    bool is_due = now->seen_ms - was->seen_ms >= HOUR_MS || now->seen_ms < was->seen_ms ||
                  now->waited_ms - was->waited_ms >= HOUR_MS ||
                  (now->waited_ms == 0) != (was->waited_ms == 0);
    if (is_due && write_clock(store, now)) {
        r->stored = r->clock;
    }
}

static void say_jump(const struct clock_trust *before, int64_t now_ms) {
    if (before->seen_ms == 0) {
        fputs("hangdog: old reports stay for one more day: this store has no time of an earlier look\n",
              stderr);
        return;
    }
    int64_t days = (now_ms - before->seen_ms) / DAY_MS;
    fprintf(stderr,
            "hangdog: the clock is %" PRId64
            " days %s the store's last time; old reports stay until it has been "
            "so for a day\n",
            days < 0 ? -days : days, days < 0 ? "behind" : "ahead of");
}

static bool clock_is_trusted(struct retention *r, struct store *store) {
    if (!read_clock(r, store)) {
        return false;
    }
    const struct clock_trust before = r->clock;
    int64_t now_ms = clock_ms(CLOCK_REALTIME), boot_ms = clock_ms(CLOCK_BOOTTIME);
    enum clock_verdict verdict =
        retention_check_clock(&r->clock, now_ms, r->boot_ms > 0 ? boot_ms - r->boot_ms : 0);
    r->boot_ms = boot_ms;
    keep_clock(r, store);
    if (verdict == CLOCK_JUMPED) {
        say_jump(&before, now_ms);
    }
    return verdict == CLOCK_TRUSTED;
}

bool retention_step(struct retention *r, struct store *store) {
    long days = retention_days(store);
    if (r->left == 0) {
        if (!clock_is_trusted(r, store)) {
            return false;
        }
        int64_t part = store_about_reports(store) / LOOKS_OF_A_STORE;
        r->left = part > REPORTS_OF_A_STEP ? part : REPORTS_OF_A_STEP;
    }
    long most = r->left < REPORTS_OF_A_STEP ? (long)r->left : REPORTS_OF_A_STEP;
    long removed = days > 0 ? store_remove_old(store, clock_ms(CLOCK_REALTIME) - days * DAY_MS, most) : 0;
    r->left = removed == most ? r->left - removed : 0;
    return r->left > 0;
}
