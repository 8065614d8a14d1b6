/* SPDX-License-Identifier: MIT */
#include "cli/reporter/printed.h"

#include <stdio.h>
#include <string.h>

unsigned printed_count(const struct printed *p) {
    return p->count < PRINTED_MAX ? (unsigned)p->count : PRINTED_MAX;
}

/* The newest first: an id comes twice within one hang. */
struct printed_report *printed_find(struct printed *p, const char *id) {
    for (unsigned i = 0; i < printed_count(p); i++) {
        struct printed_report *r = &p->report[(p->count - 1 - i) % PRINTED_MAX];
        if (strcmp(r->id, id) == 0) {
            return r;
        }
    }
    return NULL;
}

struct printed_report *printed_add(struct printed *p, const char *id) {
    struct printed_report *r = printed_find(p, id);
    if (r == NULL) {
        r = &p->report[p->count % PRINTED_MAX];
        *r = (struct printed_report){0};
        snprintf(r->id, sizeof r->id, "%s", id);
        p->count++;
    }
    return r;
}
