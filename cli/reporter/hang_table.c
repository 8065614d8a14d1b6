/* SPDX-License-Identifier: MIT */
#include "cli/reporter/hang_table.h"

#include <stdio.h>
#include <string.h>

#include "os/os.h"

#define MINUTE_NS (60 * HD_NS_PER_S)

static struct hang_row *find(struct hang_table *t, const struct hang_seen *hang) {
    for (uint32_t i = 0; i < t->rows; i++) {
        struct hang_row *r = &t->row[i];
        /* a name that is too long is cut */
        if (strncmp(r->function, hang->function, sizeof r->function - 1) == 0 &&
            strncmp(r->cause, hang->cause, sizeof r->cause - 1) == 0) {
            return r;
        }
    }
    return NULL;
}

static struct hang_row *new_row(struct hang_table *t) {
    struct hang_row *least = &t->row[0];
    if (t->rows < HANG_ROWS) {
        return &t->row[t->rows++];
    }
    for (uint32_t i = 1; i < HANG_ROWS; i++) {
        least = t->row[i].total_ns < least->total_ns ? &t->row[i] : least;
    }
    return least;
}

struct hang_row *hang_table_add(struct hang_table *t, const struct hang_seen *hang) {
    struct hang_row *r = find(t, hang);
    if (r == NULL) {
        r = new_row(t);
        *r = (struct hang_row){0};
        snprintf(r->function, sizeof r->function, "%s", hang->function);
        snprintf(r->cause, sizeof r->cause, "%s", hang->cause);
        snprintf(r->id, sizeof r->id, "%s", hang->id);
    }
    r->count++;
    r->total_ns += hang->duration_ns;
    r->max_ns = hang->duration_ns > r->max_ns ? hang->duration_ns : r->max_ns;
    memmove(&r->last_ns[1], &r->last_ns[0], sizeof r->last_ns - sizeof r->last_ns[0]);
    r->last_ns[0] = hang->now_ns;
    return r;
}

/* 10, 20, 50, 100, 200 ... */
static bool is_round(uint64_t count) {
    while (count >= 100 && count % 10 == 0) {
        count /= 10;
    }
    return count == 10 || count == 20 || count == 50;
}

bool hang_row_is_due(const struct hang_row *r) {
    uint64_t first_ns = r->last_ns[HANG_FREQUENT - 1];
    bool frequent = r->count > HANG_FREQUENT && r->last_ns[0] - first_ns < MINUTE_NS;
    return !frequent || is_round(r->count);
}

unsigned hang_table_worst(const struct hang_table *t, unsigned *index, unsigned max) {
    unsigned found = 0;
    for (unsigned i = 0; i < t->rows; i++) {
        unsigned at = found < max ? found++ : max;
        for (; at > 0 && t->row[index[at - 1]].total_ns < t->row[i].total_ns; at--) {
            if (at < max) {
                index[at] = index[at - 1];
            }
        }
        if (at < max) {
            index[at] = i;
        }
    }
    return found;
}
