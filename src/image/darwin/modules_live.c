/* SPDX-License-Identifier: MIT
 *
 * The modules of this process, from the loader's list of images. The worker reads the list by calls of Mach
 * and never calls the loader, which takes locks. Worker; runs during a hang; no allocation.
 */
#include <errno.h>
#include <string.h>

#include "image/macho/image_list.h"
#include "image/macho/macho.h"
#include "image/modules.h"
#include "image/read_string.h"
#include "os/darwin/mach.h"

#define TRIES 4u            /* of a list that the loader changes meanwhile */
#define PIECE (16u * 1024u) /* a larger copy would make the program's pages copy-on-write */

static uint64_t list_at; /* 0: not known yet */

/* The time of the list at which each module was seen last: until the list changes, each is valid. */
static struct {
    const struct hd_modules *of;
    uint32_t resets;
    uint64_t seen[HD_MODULES_MAX];
} checked;

static int read_live(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    if (addr > INT64_MAX || n > INT64_MAX - addr) {
        return -EFAULT;
    }
    for (size_t done = 0; done < n;) {
        size_t piece = n - done < PIECE ? n - done : PIECE;
        int rc = hd_mach.read(addr + done, (uint8_t *)dst + done, piece);
        if (rc != 0) {
            return rc;
        }
        done += piece;
    }
    return 0;
}

/* The kernel knows where the list is. The loader never moves it, so one question suffices. */
static int read_list(struct hd_image_list *l, const struct hd_memory *memory) {
    uint64_t at = __atomic_load_n(&list_at, __ATOMIC_RELAXED);
    int rc = at != 0 ? 0 : hd_mach.images(&at);
    if (rc != 0) {
        return rc;
    }
    __atomic_store_n(&list_at, at, __ATOMIC_RELAXED);
    return hd_image_list_read(l, memory, at);
}

/* The image at pc, and the time of the list. -EAGAIN: the loader is changing the list. */
static int find_entry(const struct hd_memory *memory, uint64_t pc, struct hd_image_entry *entry,
                      uint64_t *changed, bool *is_loader) {
    struct hd_image_list l = {.at = 0};
    int rc = -EAGAIN;
    for (unsigned i = 0; i < TRIES && rc == -EAGAIN; i++) {
        rc = read_list(&l, memory);
        if (rc != 0) {
            continue;
        }
        rc = hd_image_list_at(&l, memory, pc, entry) ? 0 : -ENOENT;
        rc = hd_image_list_is_same(&l, memory) ? rc : -EAGAIN;
    }
    *changed = l.changed;
    *is_loader = rc == 0 && entry->header == l.loader;
    return rc;
}

static int fill(const struct hd_memory *memory, const struct hd_image_entry *entry, uint64_t pc,
                struct hd_module *out) {
    struct hd_macho_tables t;
    int rc = hd_macho_tables_read(memory, entry->header, &t);
    if (rc != 0) {
        return rc;
    }
    if (pc - t.text >= t.text_bytes) {
        return -ENOENT;
    }
    out->lo = t.text;
    out->hi = t.text + t.text_bytes;
    out->header = t.text;
    out->bias = t.slide;
    out->handle = entry->path;
    out->format = HD_IMAGE_MACHO;
    out->main_program = t.file_type == HD_MACHO_EXECUTE;
    out->build_id_bytes = t.has_uuid ? sizeof t.uuid : 0;
    memcpy(out->build_id, t.uuid, sizeof t.uuid);
    return 0;
}

/* The number of the module that begins at `lo`; HD_MODULES_MAX: none is known there. */
static uint32_t known(const struct hd_modules *m, uint64_t lo) {
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->module[i].lo == lo && !m->module[i].gone) {
            return i;
        }
    }
    return HD_MODULES_MAX;
}

/* Whether module `i` is still the one that was found: the list has not changed since it was seen. */
static bool is_unchanged(const struct hd_modules *m, uint32_t i) {
    struct hd_image_list l;
    return checked.of == m && checked.resets == m->resets && checked.seen[i] != 0 &&
           read_list(&l, &m->memory) == 0 && l.changed == checked.seen[i];
}

static void remember(const struct hd_modules *m, uint32_t i, uint64_t changed) {
    if (checked.of != m || checked.resets != m->resets) {
        memset(&checked, 0, sizeof checked);
        checked.of = m;
        checked.resets = m->resets;
    }
    checked.seen[i] = changed;
}

/* While the loader changes the list, a known module is checked by its header. */
static int find_again(struct hd_modules *m, uint64_t lo, struct hd_module *out) {
    struct hd_image_entry entry;
    uint64_t changed;
    bool is_loader;
    uint32_t i = known(m, lo);
    if (i == HD_MODULES_MAX) {
        return -ENOENT;
    }
    if (is_unchanged(m, i)) {
        *out = m->module[i];
        return 0;
    }
    int rc = find_entry(&m->memory, lo, &entry, &changed, &is_loader);
    if (rc == -EAGAIN) {
        entry = (struct hd_image_entry){.header = lo, .path = m->module[i].handle};
        return fill(&m->memory, &entry, lo, out);
    }
    rc = rc != 0 ? rc : fill(&m->memory, &entry, lo, out);
    if (rc == 0) {
        remember(m, i, changed);
    }
    return rc;
}

static int find_live(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path,
                     size_t path_bytes) {
    struct hd_image_entry entry;
    uint64_t changed;
    bool is_loader;
    if (path == NULL && known(m, pc) != HD_MODULES_MAX) {
        return find_again(m, pc, out);
    }
    int rc = find_entry(&m->memory, pc, &entry, &changed, &is_loader);
    rc = rc != 0 ? rc : fill(&m->memory, &entry, pc, out);
    if (rc != 0 || path == NULL || path_bytes == 0) {
        return rc;
    }
    if (hd_image_read_string(&m->memory, entry.path, path, path_bytes) != 0 && is_loader) {
        strncpy(path, "/usr/lib/dyld", path_bytes - 1);
        path[path_bytes - 1] = '\0';
    }
    return 0;
}

/* Finds the image of the program. False: the list is not known, or the loader is changing it. */
static bool find_program(const struct hd_memory *memory, struct hd_image_entry *out) {
    struct hd_image_list l;
    struct hd_macho_header header;
    int rc = -EAGAIN;
    for (unsigned i = 0; i < TRIES && rc == -EAGAIN; i++) {
        rc = read_list(&l, memory);
    }
    for (uint32_t i = 0; rc == 0 && i < l.count; i++) {
        if (hd_image_list_entry(&l, memory, i, out) &&
            hd_memory_read(memory, out->header, &header, sizeof header) &&
            header.file_type == HD_MACHO_EXECUTE) {
            return true;
        }
    }
    return false;
}

/* The loader lists a path without links. */
void hd_image_program_path(char *path, size_t bytes) {
    struct hd_memory memory = {.read = read_live};
    struct hd_image_entry program;
    path[0] = '\0';
    if (find_program(&memory, &program)) {
        (void)hd_image_read_string(&memory, program.path, path, bytes);
    }
}

int hd_modules_program(struct hd_modules *m) {
    struct hd_image_entry program;
    return find_program(&m->memory, &program) ? hd_modules_at(m, program.header) : -1;
}

void hd_modules_init_live(struct hd_modules *m, int mem_fd) {
    (void)mem_fd; /* Mach reads by the task's port */
    __atomic_store_n(&list_at, 0, __ATOMIC_RELAXED);
    hd_modules_reset(m);
    m->lost = 0;
    m->paths[HD_MODULE_PATHS_BYTES - 1] = 0;
    m->memory = (struct hd_memory){.read = read_live};
    m->find = find_live;
    m->find_ctx = NULL;
    m->is_code = NULL;
}
