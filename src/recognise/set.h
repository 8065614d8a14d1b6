/* SPDX-License-Identifier: MIT
 *
 * What a wait waits for: objects, not descriptor numbers, which are reused at once. Pure; no allocation.
 */
#ifndef HD_SET_H
#define HD_SET_H

#include "base/types.h"

#define HD_SET_OBJECTS 16u

/* Set in the object of an epoll instance, and in no other: a loop made anew has another instance. */
#define HD_OBJECT_EPOLL (1ULL << 63)

/* Sorted, each once; at most 16, the smallest. An epoll instance is a set of one. */
struct hd_set {
    uint64_t object[HD_SET_OBJECTS];
    uint32_t count;
};

void hd_rule_set_add(struct hd_set *s, uint64_t object);

/* Has `s` all of `part`? */
bool hd_set_includes(const struct hd_set *s, const struct hd_set *part);

/* Leaves of `s` what both have. */
void hd_set_intersect(struct hd_set *s, const struct hd_set *with);

/* Have they an object in common, or is one of them empty? */
bool hd_set_share(const struct hd_set *a, const struct hd_set *b);

static inline bool hd_set_is_epoll(const struct hd_set *s) {
    return s->count == 1 && (s->object[0] & HD_OBJECT_EPOLL) != 0;
}

#endif
