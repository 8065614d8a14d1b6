/* SPDX-License-Identifier: MIT
 *
 * The loader's public list of objects, which debuggers read. For C libraries without _dl_find_object (before
 * glibc 2.35). Reads may fail, and the list may change during the read: then an object is not found. Worker;
 * runs during a hang; no allocation, no lock.
 */
#ifndef HD_LOADER_LIST_H
#define HD_LOADER_LIST_H

#include "base/memory.h"

struct hd_loaded_object {
    uint64_t lo, hi, eh_frame_hdr; /* 0: it has no .eh_frame_hdr */
    uint64_t link_map;
};

/* Finds the object that contains pc. The kernel mapped the program's headers at `headers`. 0; -ENOENT: the
 * list has no such object; -EFAULT: the program has no list. */
int hd_loader_list_find(const struct hd_memory *memory, uint64_t headers, uint64_t count, uint64_t pc,
                        struct hd_loaded_object *out);

#endif
