/* SPDX-License-Identifier: MIT */
#include "recognise/set.h"

#include <string.h>

void hd_set_add(struct hd_set *s, uint64_t file) {
    uint32_t at = 0;
    while (at < s->count && s->file[at] < file) {
        at++;
    }
    if ((at < s->count && s->file[at] == file) || at == HD_SET_FILES) {
        return;
    }
    uint32_t moved = s->count - at - (s->count == HD_SET_FILES);
    memmove(&s->file[at + 1], &s->file[at], moved * sizeof s->file[0]);
    s->file[at] = file;
    s->count += s->count < HD_SET_FILES;
}

bool hd_set_includes(const struct hd_set *s, const struct hd_set *part) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        while (at < s->count && s->file[at] < part->file[i]) {
            at++;
        }
        if (at == s->count || s->file[at] != part->file[i]) {
            return false;
        }
    }
    return true;
}

void hd_set_intersect(struct hd_set *s, const struct hd_set *with) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        struct hd_set one = {.file = {s->file[i]}, .count = 1};
        if (hd_set_includes(with, &one)) {
            s->file[kept++] = s->file[i];
        }
    }
    s->count = kept;
}

bool hd_set_share(const struct hd_set *a, const struct hd_set *b) {
    struct hd_set both = *a;
    hd_set_intersect(&both, b);
    return both.count > 0 || a->count == 0 || b->count == 0;
}
