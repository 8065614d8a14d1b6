/* SPDX-License-Identifier: MIT */
#include "agent/totals.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/prometheus.h"

#define FIRST_BUCKET 20u /* 1 ms */
#define LAST_BUCKET 34u  /* 17 s */

static bool is_equal(const struct total_key *a, const struct total_key *b) {
    return a->user == b->user && a->reader == b->reader && strcmp(a->app, b->app) == 0 &&
           strcmp(a->unit, b->unit) == 0 && strcmp(a->container, b->container) == 0;
}

static size_t add_key(struct totals *t, const struct total_key *key) {
    struct total *more = realloc(t->total, (t->count + 1) * sizeof *more);
    if (more == NULL) {
        return SIZE_MAX;
    }
    t->total = more;
    more[t->count] = (struct total){.key = *key};
    return t->count++;
}

/* SIZE_MAX: all are in use. */
static size_t find_unused(const struct totals *t) {
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < t->count && i < TOTALS_MAX; i++) {
        if (t->total[i].users == 0 && (first == SIZE_MAX || t->total[i].left < t->total[first].left)) {
            first = i;
        }
    }
    return first;
}

static size_t find_place(struct totals *t, const struct total_key *key) {
    static const struct total_key other = {.app = "other"};
    for (size_t i = 0; i < t->count; i++) {
        if (is_equal(&t->total[i].key, key)) {
            return i;
        }
    }
    if (t->count < TOTALS_MAX) {
        return add_key(t, key);
    }
    size_t unused = find_unused(t);
    if (unused != SIZE_MAX) {
        t->total[unused] = (struct total){.key = *key};
        return unused;
    }
    return t->count == TOTALS_MAX ? add_key(t, &other) : TOTALS_MAX;
}

size_t totals_take(struct totals *t, const struct total_key *key) {
    size_t index = find_place(t, key);
    if (index < t->count) {
        t->total[index].users++;
    }
    return index;
}

void totals_leave(struct totals *t, size_t index) {
    if (index < t->count && --t->total[index].users == 0) {
        t->total[index].left = ++t->lefts;
    }
}

void totals_free(struct totals *t) {
    free(t->total);
    *t = (struct totals){0};
}

void total_add(struct total *to, const struct hd_record *record) {
    uint64_t longest_ns = atomic_load(&record->hangs.max_ns);
    to->hangs += atomic_load(&record->hangs.count);
    to->hang_ns += atomic_load(&record->hangs.total_ns);
    to->longest_ns = to->longest_ns > longest_ns ? to->longest_ns : longest_ns;
    to->busy_ns += atomic_load(&record->turns.busy_ns);
    to->idle_ns += atomic_load(&record->turns.idle_ns);
    for (unsigned i = 0; i < HD_TURN_BUCKETS; i++) {
        uint64_t turns = atomic_load(&record->turns.histogram[i]);
        to->histogram[i] += turns;
        to->turns += turns;
    }
}

/* ---- text ------------------------------------------------------------------------------------- */

static void put_labels(FILE *out, const struct total_key *key) {
    export_put_label(out, "{", "app", key->app);
    if (key->unit[0] != '\0') {
        export_put_label(out, ",", "unit", key->unit);
    }
    if (key->container[0] != '\0') {
        export_put_label(out, ",", "container", key->container);
    }
    fprintf(out, ",uid=\"%u\"", (unsigned)key->user);
}

enum unit {
    COUNT,
    SECONDS,
    NUMBER
};

static double value_of(const void *member, enum unit unit) {
    uint64_t value = 0;
    unsigned number = 0;
    if (unit == NUMBER) {
        memcpy(&number, member, sizeof number);
        return number;
    }
    memcpy(&value, member, sizeof value);
    return unit == SECONDS ? (double)value / HD_NS_PER_S : (double)value;
}

static void put_turns(FILE *out, const struct total *total, size_t count) {
    static const char name[] = "hangdog_agent_turn_seconds";
    fprintf(out, "# HELP %s Turns of the loops, by how long they took.\n# TYPE %s histogram\n", name, name);
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (unsigned b = 0; b < HD_TURN_BUCKETS; b++) {
            sum += total[i].histogram[b];
            if (b + 1 >= FIRST_BUCKET && b + 1 <= LAST_BUCKET) {
                fprintf(out, "%s_bucket", name);
                put_labels(out, &total[i].key);
                fprintf(out, ",le=\"%.15g\"} %" PRIu64 "\n", (double)(UINT64_C(1) << (b + 1)) / HD_NS_PER_S,
                        sum);
            }
        }
        fprintf(out, "%s_bucket", name);
        put_labels(out, &total[i].key);
        fprintf(out, ",le=\"+Inf\"} %" PRIu64 "\n%s_sum", sum, name);
        put_labels(out, &total[i].key);
        fprintf(out, "} %.15g\n%s_count", (double)total[i].busy_ns / HD_NS_PER_S, name);
        put_labels(out, &total[i].key);
        fprintf(out, "} %" PRIu64 "\n", sum);
    }
}

void totals_print(FILE *out, const struct total *total, size_t count) {
    static const struct {
        const char *name, *help, *type;
        size_t member;
        enum unit unit;
    } metric[] = {
        {"processes", "Watched processes.", "gauge", offsetof(struct total, processes), NUMBER},
        {"loops", "Threads that have a loop.", "gauge", offsetof(struct total, loops), NUMBER},
        {"frozen", "Processes with a hang that is not over.", "gauge", offsetof(struct total, frozen),
         NUMBER},
        {"hangs_total", "Hangs that have ended.", "counter", offsetof(struct total, hangs), COUNT},
        {"hang_seconds_total", "Their time.", "counter", offsetof(struct total, hang_ns), SECONDS},
        {"longest_hang_seconds", "The longest hang.", "gauge", offsetof(struct total, longest_ns), SECONDS},
        {"busy_seconds_total", "Time of the loops' turns.", "counter", offsetof(struct total, busy_ns),
         SECONDS},
        {"idle_seconds_total", "Time that the loops waited.", "counter", offsetof(struct total, idle_ns),
         SECONDS},
    };
    for (size_t m = 0; m < sizeof metric / sizeof metric[0] && count != 0; m++) {
        fprintf(out, "# HELP hangdog_agent_%s %s\n# TYPE hangdog_agent_%s %s\n", metric[m].name,
                metric[m].help, metric[m].name, metric[m].type);
        for (size_t i = 0; i < count; i++) {
            fprintf(out, "hangdog_agent_%s", metric[m].name);
            put_labels(out, &total[i].key);
            fprintf(out, "} %.15g\n", value_of((const char *)&total[i] + metric[m].member, metric[m].unit));
        }
    }
    if (count != 0) {
        put_turns(out, total, count);
    }
}
