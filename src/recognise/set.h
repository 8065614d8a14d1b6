/* SPDX-License-Identifier: MIT
 *
 * A descriptor set: the open files that one wait is for. It has identities of files (open_files.h), since the
 * kernel reuses descriptor numbers at once. Pure; no allocation.
 */
#ifndef HD_SET_H
#define HD_SET_H

#include "base/types.h"

#define HD_SET_FILES 16u

/* This bit is set in the identity of each epoll instance, and in that of no other file. */
#define HD_FILE_EPOLL (1ULL << 63)

/* A wait for an epoll instance has a set of one file: the instance. */
struct hd_set {
    /* The identities of the files in ascending order, each once. If the wait has more than HD_SET_FILES
     * files, the set has only the smallest identities. */
    uint64_t file[HD_SET_FILES];
    uint32_t count;
};

void hd_set_add(struct hd_set *s, uint64_t file);

/* True if `s` has all files of `part`. */
bool hd_set_includes(const struct hd_set *s, const struct hd_set *part);

/* Removes from `s` each file that is not in `with`. */
void hd_set_intersect(struct hd_set *s, const struct hd_set *with);

/* True if the sets have a file in common, or if one of them is empty. */
bool hd_set_share(const struct hd_set *a, const struct hd_set *b);

static inline bool hd_set_is_epoll(const struct hd_set *s) {
    return s->count == 1 && (s->file[0] & HD_FILE_EPOLL) != 0;
}

#endif
