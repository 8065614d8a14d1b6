/* SPDX-License-Identifier: MIT
 *
 * One line of /proc/PID/maps is a mapping; those of one file in a row are a module, if an ELF header is at
 * its beginning. Ordinary code.
 */
#include "cli/live/module_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/base/path.h"
#include "image/elf/elf.h"
#include "os/os.h"

#define FILES_MAX (1u << 20)

/* ---- memory ----------------------------------------------------------------------------------- */

static int read_process(void *ctx, uint64_t address, void *to, size_t n) {
    const struct live_process *p = ctx;
    if (address > INT64_MAX || n > INT64_MAX - address) {
        return -EFAULT;
    }
    for (size_t done = 0; done < n;) {
        long got = hd_os.pread(p->mem_fd, (uint8_t *)to + done, n - done, address + done);
        if (got <= 0) {
            return got < 0 ? (int)got : -EFAULT;
        }
        done += (size_t)got;
    }
    return 0;
}

/* ---- the list ------------------------------------------------------------------------------- */

struct line {
    uint64_t lo, hi, offset, inode;
    unsigned major, minor;
    bool is_code;
    const char *path; /* empty: none */
};

static bool parse(const char *text, struct line *out) {
    char mode[8];
    int path = 0;
    unsigned long lo, hi, offset, inode;
    if (sscanf(text, "%lx-%lx %7s %lx %x:%x %lu %n", &lo, &hi, mode, &offset, &out->major, &out->minor,
               &inode, &path) < 7 ||
        path == 0 || hi <= lo) {
        return false;
    }
    out->lo = lo;
    out->hi = hi;
    out->offset = offset;
    out->inode = inode;
    out->is_code = mode[2] == 'x';
    out->path = text + path;
    return true;
}

/* The vDSO is known by the name that the loader gives it. */
static char *path_of(const char *path, bool *is_deleted) {
    static const char deleted[] = " (deleted)";
    char *copy = strdup(strcmp(path, "[vdso]") == 0 ? "linux-vdso.so.1" : path);
    size_t n = copy != NULL ? strlen(copy) : 0, end = sizeof deleted - 1;
    *is_deleted = n > end && strcmp(copy + n - end, deleted) == 0;
    if (*is_deleted) {
        copy[n - end] = '\0';
    }
    return copy;
}

/* Small programs have the beginning of their file mapped twice, once to be executed. */
static bool goes_on(const struct mapped_file *last, const struct line *l, const char *path, bool is_deleted) {
    bool again = l->offset == 0 && last->last_offset == 0 && last->hi == l->lo && !last->is_code;
    return path[0] != '\0' && last->hi <= l->lo && last->inode == l->inode &&
           last->device_major == l->major && last->device_minor == l->minor &&
           last->is_deleted == is_deleted && (l->offset != 0 || again) && strcmp(last->path, path) == 0;
}

static int add(struct module_map *map, const struct line *l) {
    bool is_deleted;
    char *path = path_of(l->path, &is_deleted);
    if (path == NULL) {
        return -ENOMEM;
    }
    struct mapped_file *last = map->count != 0 ? &map->file[map->count - 1] : NULL;
    if (last != NULL && goes_on(last, l, path, is_deleted)) {
        last->hi = l->hi;
        last->last_offset = l->offset;
        last->is_code |= l->is_code;
        free(path);
        return 0;
    }
    if (map->count == map->room) {
        size_t room = map->room != 0 ? 2 * map->room : 256;
        struct mapped_file *more = room > FILES_MAX ? NULL : realloc(map->file, room * sizeof *more);
        if (more == NULL) {
            free(path);
            return -ENOMEM;
        }
        map->file = more;
        map->room = room;
    }
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room for one more
    map->file[map->count++] = (struct mapped_file){.lo = l->lo,
                                                   .hi = l->hi,
                                                   .first_hi = l->hi,
                                                   .inode = l->inode,
                                                   .device_major = l->major,
                                                   .device_minor = l->minor,
                                                   .is_code = l->is_code,
                                                   .is_deleted = is_deleted,
                                                   .path = path};
    return 0;
}

static uint64_t read_entry(const struct live_process *p) {
    uint64_t pair[2], entry = 0;
    int fd = openat(p->proc_fd, "auxv", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && read(fd, pair, sizeof pair) == (ssize_t)sizeof pair && pair[0] != AT_NULL) {
        entry = pair[0] == AT_ENTRY ? pair[1] : entry;
    }
    if (fd >= 0) {
        close(fd);
    }
    return entry;
}

int module_map_read(struct module_map *map, const struct live_process *p) {
    *map = (struct module_map){.process = p, .entry = read_entry(p)};
    int fd = openat(p->proc_fd, "maps", O_RDONLY | O_CLOEXEC), rc = 0;
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        rc = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return rc;
    }
    char *text = NULL;
    size_t room = 0;
    struct line l;
    uint64_t above = 0;
    while (rc == 0 && getline(&text, &room, file) > 0) {
        text[strcspn(text, "\n")] = '\0';
        /* pieces that are read while it changes may repeat a mapping */
        if (!parse(text, &l) || l.lo < above) {
            continue;
        }
        bool is_file = l.path[0] == '/' || strcmp(l.path, "[vdso]") == 0;
        above = l.hi;
        if (is_file || l.is_code) {
            l.path = is_file ? l.path : "";
            rc = add(map, &l);
        }
    }
    free(text);
    fclose(file);
    return rc;
}

void module_map_free(struct module_map *map) {
    for (size_t i = 0; i < map->count; i++) {
        free(map->file[i].path);
    }
    free(map->file);
    *map = (struct module_map){0};
}

static size_t next_module(const struct module_map *map, size_t i) {
    while (i < map->count && (map->file[i].path[0] == '\0' || !map->file[i].is_code)) {
        i++;
    }
    return i;
}

static bool is_same(const struct mapped_file *a, const struct mapped_file *b) {
    return a->lo == b->lo && a->hi == b->hi && a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor && a->is_deleted == b->is_deleted &&
           strcmp(a->path, b->path) == 0;
}

bool module_map_has_files_of(const struct module_map *map, const struct module_map *other) {
    size_t i = next_module(map, 0), k = next_module(other, 0);
    while (i < map->count && k < other->count && is_same(&map->file[i], &other->file[k])) {
        i = next_module(map, i + 1);
        k = next_module(other, k + 1);
    }
    return i == map->count && k == other->count && map->entry == other->entry;
}

const struct mapped_file *module_map_at(const struct module_map *map, uint64_t address) {
    size_t lo = 0, hi = map->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (map->file[middle].lo <= address) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo > 0 && address < map->file[lo - 1].hi ? &map->file[lo - 1] : NULL;
}

uint64_t module_map_libc(const struct module_map *map) {
    static const char *const names[] = {"libpthread.so.0", "libpthread-2", "libc.so.6", "libc-2"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        for (size_t i = 0; i < map->count; i++) {
            const struct mapped_file *f = &map->file[i];
            if (f->is_code && strncmp(base_name(f->path), names[n], strlen(names[n])) == 0) {
                return f->lo;
            }
        }
    }
    return 0;
}

/* ---- modules ---------------------------------------------------------------------------------- */

int module_map_find(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t path_bytes) {
    const struct module_map *map = m->find_ctx;
    const struct mapped_file *f = module_map_at(map, pc);
    if (f == NULL || !f->is_code || f->path[0] == '\0') {
        return -ENOENT;
    }
    out->lo = out->header = f->lo;
    out->hi = f->hi;
    /* stays the same when the list is read anew */
    out->handle = (f->inode << 20 ^ (uint64_t)f->device_major << 12 ^ f->device_minor) + 1;
    out->main_program = map->entry - f->lo < f->hi - f->lo;
    if (hd_elf_bias(&m->memory, out) != 0) {
        return -ENOENT;
    }
    (void)hd_elf_headers(&m->memory, out);
    if (path != NULL && path_bytes != 0) {
        snprintf(path, path_bytes, "%s", f->path);
    }
    return 0;
}

static bool is_code(const struct hd_modules *m, uint64_t pc) {
    const struct mapped_file *f = module_map_at(m->find_ctx, pc);
    return f != NULL && f->is_code;
}

void module_map_begin(struct module_map *map, struct hd_modules *m) {
    hd_modules_reset(m);
    m->lost = 0;
    m->paths[HD_MODULE_PATHS_BYTES - 1] = 0;
    m->memory = (struct hd_memory){.read = read_process, .ctx = (void *)(uintptr_t)map->process};
    m->find = module_map_find;
    m->find_ctx = map;
    m->is_code = is_code;
}
