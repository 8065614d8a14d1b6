/* SPDX-License-Identifier: MIT
 *
 * Sets of objects. Pure; no allocation.
 */
#include "recognise/set.h"

#include <string.h>

void hd_rule_set_add(struct hd_set *s, uint64_t object) {
    uint32_t at = 0;
    while (at < s->count && s->object[at] < object) {
        at++;
    }
    if ((at < s->count && s->object[at] == object) || at == HD_SET_OBJECTS) {
        return;
    }
    uint32_t moved = s->count - at - (s->count == HD_SET_OBJECTS);
    memmove(&s->object[at + 1], &s->object[at], moved * sizeof s->object[0]);
    s->object[at] = object;
    s->count += s->count < HD_SET_OBJECTS;
}

bool hd_set_includes(const struct hd_set *s, const struct hd_set *part) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        while (at < s->count && s->object[at] < part->object[i]) {
            at++;
        }
        if (at == s->count || s->object[at] != part->object[i]) {
            return false;
        }
    }
    return true;
}

void hd_set_intersect(struct hd_set *s, const struct hd_set *with) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct hd_set one = {.object = {s->object[i]}, .count = 1};
        if (hd_set_includes(with, &one)) {
            s->object[kept++] = s->object[i];
        }
    }
    s->count = kept;
}

bool hd_set_share(const struct hd_set *a, const struct hd_set *b) {
    struct hd_set both = *a;
    hd_set_intersect(&both, b);
    return both.count > 0 || a->count == 0 || b->count == 0;
}
