/* SPDX-License-Identifier: MIT */
#include "image/macho/image_list.h"

#include <errno.h>

#define AT_ONCE 128u
#define VERSION_WITH_TIME 15u

/* The beginning of the loader's structure, in processes of 64 bits. */
struct infos {
    uint32_t version, count;
    uint64_t array;
    uint64_t notification;
    uint64_t flags;
    uint64_t loader;
    uint64_t unused[18];
    uint64_t changed;
    uint64_t loader_path;
};

int hd_image_list_read(struct hd_image_list *l, const struct hd_memory *memory, uint64_t at) {
    struct infos i;
    *l = (struct hd_image_list){.at = at};
    /* The time stamp comes first: what changes after it is noticed. */
    if (!hd_memory_read(memory, at + offsetof(struct infos, changed), &l->changed, sizeof l->changed) ||
        !hd_memory_read(memory, at, &i, sizeof i)) {
        return -EFAULT;
    }
    if (i.array == 0 || (i.version >= VERSION_WITH_TIME && i.changed != l->changed)) {
        return -EAGAIN;
    }
    bool has_time = i.version >= VERSION_WITH_TIME;
    l->changed = has_time ? i.changed : 0;
    l->loader_path = has_time ? i.loader_path : 0;
    l->array = i.array;
    l->count = i.count < HD_IMAGE_LIST_MAX ? i.count : HD_IMAGE_LIST_MAX;
    l->loader = i.loader;
    return 0;
}

bool hd_image_list_entry(const struct hd_image_list *l, const struct hd_memory *memory, uint32_t i,
                         struct hd_image_entry *out) {
    if (i < l->count) {
        return hd_memory_read(memory, l->array + (uint64_t)i * sizeof *out, out, sizeof *out);
    }
    *out = (struct hd_image_entry){.header = l->loader, .path = l->loader_path};
    return i == l->count && l->loader != 0;
}

bool hd_image_list_at(const struct hd_image_list *l, const struct hd_memory *memory, uint64_t pc,
                      struct hd_image_entry *out) {
    struct hd_image_entry piece[AT_ONCE];
    bool found = hd_image_list_entry(l, memory, l->count, out) && out->header <= pc;
    for (uint32_t done = 0; done < l->count;) {
        uint32_t n = l->count - done < AT_ONCE ? l->count - done : AT_ONCE;
        if (!hd_memory_read(memory, l->array + (uint64_t)done * sizeof piece[0], piece,
                            n * sizeof piece[0])) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (piece[i].header <= pc && (!found || piece[i].header >= out->header)) {
                *out = piece[i];
                found = true;
            }
        }
        done += n;
    }
    return found;
}

bool hd_image_list_is_same(const struct hd_image_list *l, const struct hd_memory *memory) {
    struct hd_image_list now;
    return hd_image_list_read(&now, memory, l->at) == 0 && now.changed == l->changed &&
           now.array == l->array && now.count == l->count;
}
