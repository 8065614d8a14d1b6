/* SPDX-License-Identifier: MIT
 *
 * Of the objects that start at or before pc, the nearest one: reading each object's headers would take three
 * reads more for each.
 */
#include "image/linux/loader_list.h"

#include <errno.h>
#include <link.h>

#define HEADERS_MAX 64u
#define DYNAMIC_MAX 64u
#define OBJECTS_MAX 4096u /* ends a list that is a circle */
#define PAGE 4096u

struct headers {
    uint64_t count;
    ElfW(Phdr) at[HEADERS_MAX];
};

static bool read_headers(const struct hd_memory *memory, uint64_t at, uint64_t count, struct headers *to) {
    to->count = count;
    return count <= HEADERS_MAX && hd_memory_read(memory, at, to->at, count * sizeof to->at[0]);
}

static const ElfW(Phdr) * header_of(const struct headers *headers, uint32_t type) {
    for (uint64_t i = 0; i < headers->count; i++) {
        if (headers->at[i].p_type == type) {
            return &headers->at[i];
        }
    }
    return NULL;
}

/* The first object of the list, 0: none. The loader writes its address into the program's dynamic section. */
static uint64_t first_object(const struct hd_memory *memory, const struct headers *program, uint64_t bias) {
    const ElfW(Phdr) *dynamic = header_of(program, PT_DYNAMIC);
    ElfW(Dyn) entries[DYNAMIC_MAX];
    struct r_debug list;
    uint64_t count = dynamic != NULL ? dynamic->p_memsz / sizeof entries[0] : 0;
    count = count < DYNAMIC_MAX ? count : DYNAMIC_MAX;
    if (count == 0 || !hd_memory_read(memory, bias + dynamic->p_vaddr, entries, count * sizeof entries[0])) {
        return 0;
    }
    for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_DEBUG) {
            return hd_memory_read(memory, entries[i].d_un.d_ptr, &list, sizeof list)
                       ? (uint64_t)(uintptr_t)list.r_map
                       : 0;
        }
    }
    return 0;
}

static bool fill(const struct headers *headers, uint64_t bias, uint64_t pc, struct hd_loaded_object *out) {
    const ElfW(Phdr) *unwind = header_of(headers, PT_GNU_EH_FRAME);
    out->lo = UINT64_MAX;
    out->hi = 0;
    for (uint64_t i = 0; i < headers->count; i++) {
        uint64_t from = bias + headers->at[i].p_vaddr, to = from + headers->at[i].p_memsz;
        if (headers->at[i].p_type == PT_LOAD) {
            from -= from % PAGE;
            out->lo = from < out->lo ? from : out->lo;
            out->hi = to > out->hi ? to : out->hi;
        }
    }
    out->eh_frame_hdr = unwind != NULL ? bias + unwind->p_vaddr : 0;
    return pc >= out->lo && pc < out->hi;
}

int hd_loader_list_find(const struct hd_memory *memory, uint64_t headers, uint64_t count, uint64_t pc,
                        struct hd_loaded_object *out) {
    struct headers own;
    struct link_map map;
    ElfW(Ehdr) file;
    uint64_t nearest = 0;
    if (!read_headers(memory, headers, count, &own)) {
        return -EFAULT;
    }
    const ElfW(Phdr) *self = header_of(&own, PT_PHDR);
    uint64_t bias = self != NULL ? headers - self->p_vaddr : 0;
    uint64_t first = first_object(memory, &own, bias), at = first;
    if (first == 0) {
        return -EFAULT;
    }
    out->link_map = 0;
    for (unsigned i = 0; i < OBJECTS_MAX && at != 0; i++) {
        if (!hd_memory_read(memory, at, &map, sizeof map)) {
            break;
        }
        if (map.l_addr <= pc && (out->link_map == 0 || map.l_addr > nearest)) {
            nearest = map.l_addr;
            out->link_map = at;
        }
        at = (uint64_t)(uintptr_t)map.l_next;
    }
    if (out->link_map != first && (!hd_memory_read(memory, nearest, &file, sizeof file) ||
                                   !read_headers(memory, nearest + file.e_phoff, file.e_phnum, &own))) {
        return -ENOENT;
    }
    return out->link_map != 0 && fill(&own, nearest, pc, out) ? 0 : -ENOENT;
}
