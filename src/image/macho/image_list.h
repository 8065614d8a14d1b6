/* SPDX-License-Identifier: MIT
 *
 * The loader's list of images in a process, struct dyld_all_image_infos. No lock guards the list. So a reader
 * reads a time stamp, the list, and the time stamp again. While the loader changes the list, its address is
 * 0. Reads may fail; any value is safe. No allocation.
 */
#ifndef HD_IMAGE_MACHO_IMAGE_LIST_H
#define HD_IMAGE_MACHO_IMAGE_LIST_H

#include "base/memory.h"

#define HD_IMAGE_LIST_MAX 16384u /* further images are not looked at */

struct hd_image_entry {
    uint64_t header;
    uint64_t path; /* address of a string; 0: none */
    uint64_t time; /* the file's, mostly 0 */
};

struct hd_image_list {
    uint64_t at; /* of the loader's structure */
    uint64_t array;
    uint64_t changed; /* time of the last change; 0: the loader does not say */
    uint64_t loader, loader_path;
    uint32_t count;
};

/* Reads the list's head. 0; -EFAULT; -EAGAIN: the loader is changing the list. */
int hd_image_list_read(struct hd_image_list *l, const struct hd_memory *memory, uint64_t at);

/* Image number `i`; the loader itself is the last, number `count`. False: no image, or it cannot be read. */
bool hd_image_list_entry(const struct hd_image_list *l, const struct hd_memory *memory, uint32_t i,
                         struct hd_image_entry *out);

/* The image with the greatest header at or below `pc`. False: there is none. */
bool hd_image_list_at(const struct hd_image_list *l, const struct hd_memory *memory, uint64_t pc,
                      struct hd_image_entry *out);

/* Whether the list is still the one that hd_image_list_read found. */
bool hd_image_list_is_same(const struct hd_image_list *l, const struct hd_memory *memory);

#endif
