/* SPDX-License-Identifier: MIT
 * Opens a module in one of four ways: by its name below the process's root, by the kernel's link to the
 * mapped file (only for root), by the link to the program, or from memory, which has the exported symbols.
 */
#include "cli/live/module_file.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/live/module_map.h"
#include "symbolizer/regular_file.h"

#define IMAGE_BYTES_MAX (256u << 20) /* of all modules together: they stay in memory */

static const struct mapped_file *file_of(const struct module_map *map, const char *path) {
    for (size_t i = 0; i < map->count; i++) {
        if (map->file[i].is_code && strcmp(map->file[i].path, path) == 0) {
            return &map->file[i];
        }
    }
    return NULL;
}

/* The process's user may have put any file under the name of a mapped one; its own rights give no more. */
static bool may_read(const struct live_process *p, const struct stat *st) {
    return p->uid == geteuid() || st->st_uid == p->uid || (st->st_mode & S_IROTH) != 0;
}

/* No link below the process's root leads out of it: its names are not ours. */
static int open_in_root(const struct live_process *p, const char *path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    char again[32];
    struct stat st;
    int root = openat(p->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
    int place = root >= 0 ? (int)syscall(SYS_openat2, root, path, &how, sizeof how) : -1;
    if (place >= 0 && fstat(place, &st) == 0 && S_ISREG(st.st_mode) && may_read(p, &st)) {
        snprintf(again, sizeof again, "/proc/self/fd/%d", place);
        fd = open(again, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    }
    if (root >= 0) {
        close(root);
    }
    if (place >= 0) {
        close(place);
    }
    return fd;
}

static int open_mapped(const struct live_process *p, const struct mapped_file *f) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", p->pid, (unsigned long)f->lo,
             (unsigned long)f->first_hi);
    return regular_file_open(path, &st);
}

static int open_program(const struct module_map *map, const struct mapped_file *f) {
    char path[32];
    struct stat st;
    if (map->entry - f->lo >= f->hi - f->lo) {
        return -1;
    }
    snprintf(path, sizeof path, "/proc/%d/exe", map->process->pid);
    return regular_file_open(path, &st);
}

/* ---- from memory ------------------------------------------------------------------------------ */

static bool copy_segment(const struct live_process *p, int fd, uint64_t from, uint64_t to, uint64_t bytes) {
    static char page[65536];
    while (bytes > 0) {
        size_t n = bytes < sizeof page ? (size_t)bytes : sizeof page;
        if (pread(p->mem_fd, page, n, (off_t)from) != (ssize_t)n ||
            pwrite(fd, page, n, (off_t)to) != (ssize_t)n) {
            return false;
        }
        from += n;
        to += n;
        bytes -= n;
    }
    return true;
}

/* The loader has made addresses in memory of the file's own. */
static bool copy_dynamic(const struct live_process *p, const struct mapped_file *f, uint64_t bias, int fd,
                         const Elf64_Phdr *ph) {
    Elf64_Dyn entries[256];
    size_t bytes = ph->p_filesz < sizeof entries ? ph->p_filesz : sizeof entries;
    if (pread(p->mem_fd, entries, bytes, (off_t)(bias + ph->p_vaddr)) != (ssize_t)bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes / sizeof entries[0]; i++) {
        uint64_t *value = &entries[i].d_un.d_ptr;
        *value -= *value - f->lo < f->hi - f->lo ? bias : 0;
    }
    return pwrite(fd, entries, bytes, (off_t)ph->p_offset) == (ssize_t)bytes;
}

static bool copy_part(const struct live_process *p, const struct mapped_file *f, uint64_t bias, int fd,
                      const Elf64_Phdr *ph) {
    static uint64_t copied;
    bool fits = ph->p_filesz < IMAGE_BYTES_MAX - copied && ph->p_offset < IMAGE_BYTES_MAX;
    if (ph->p_type == PT_LOAD && (ph->p_flags & PF_W) == 0) {
        copied += fits ? ph->p_filesz : 0;
        return fits && copy_segment(p, fd, bias + ph->p_vaddr, ph->p_offset, ph->p_filesz);
    }
    return ph->p_type != PT_DYNAMIC || (fits && copy_dynamic(p, f, bias, fd, ph));
}

/* An ELF file of what is loaded, without its sections: libelf finds the exported symbols by the dynamic
 * section. */
static int open_image(const struct live_process *p, const struct mapped_file *f) {
    Elf64_Ehdr e;
    Elf64_Phdr ph[64];
    if (pread(p->mem_fd, &e, sizeof e, (off_t)f->lo) != (ssize_t)sizeof e ||
        memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_phentsize != sizeof ph[0] ||
        e.e_phnum > sizeof ph / sizeof ph[0] ||
        pread(p->mem_fd, ph, e.e_phnum * sizeof ph[0], (off_t)(f->lo + e.e_phoff)) !=
            (ssize_t)(e.e_phnum * sizeof ph[0])) {
        return -1;
    }
    uint64_t bias = f->lo;
    for (unsigned i = e.e_phnum; i-- > 0;) {
        bias = ph[i].p_type == PT_LOAD && ph[i].p_offset < 4096 ? f->lo - (ph[i].p_vaddr - ph[i].p_offset)
                                                                : bias;
    }
    e.e_shoff = 0;
    e.e_shnum = e.e_shstrndx = 0;
    int fd = memfd_create("module", MFD_CLOEXEC);
    bool whole = fd >= 0;
    for (unsigned i = 0; whole && i < e.e_phnum; i++) {
        whole = copy_part(p, f, bias, fd, &ph[i]);
    }
    whole = whole && pwrite(fd, &e, sizeof e, 0) == (ssize_t)sizeof e;
    if (!whole && fd >= 0) {
        close(fd);
    }
    return whole ? fd : -1;
}

/* ---- in this order ---------------------------------------------------------------------------- */

int module_file_open(void *arg, const char *path, unsigned which) {
    const struct module_map *map = arg;
    const struct mapped_file *f = file_of(map, path);
    int fd = -1;
    unsigned found = 0;
    for (unsigned way = 0; f != NULL && way < 4; way++) {
        fd = way == 0   ? f->is_deleted ? -1 : open_in_root(map->process, path) /* else it is another one */
             : way == 1 ? open_mapped(map->process, f)
             : way == 2 ? open_program(map, f)
                        : open_image(map->process, f);
        if (fd >= 0 && found++ == which) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return -1;
}
