/* SPDX-License-Identifier: MIT
 *
 * The modules of this process. _dl_find_object (glibc 2.35) finds the loader's data for an address
 * without the loader's lock; before, the loader's public list. The data are read through /proc/self/mem.
 * Worker; runs during a hang; no allocation.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "image/elf/elf.h"
#include "image/linux/loader_list.h"
#include "image/modules.h"
#include "image/read_string.h"
#include "os/linux/find_object.h"
#include "os/linux/proc_text.h"
#include "os/os.h"

static int read_live(void *ctx, uint64_t addr, void *dst, size_t n) {
    int fd = (int)(intptr_t)ctx;
    if (addr > INT64_MAX || n > INT64_MAX - addr) {
        return -EFAULT;
    }
    for (size_t done = 0; done < n;) {
        long got = hd_os.pread(fd, (uint8_t *)dst + done, n - done, addr + done);
        if (got == -EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? (int)got : -EFAULT;
        }
        done += (size_t)got;
    }
    return 0;
}

static bool touched_live(void *ctx, uint64_t addr) {
    (void)ctx;
    return hd_os_touched(addr, 1) != 0;
}

/* The file that is mapped at an address. Empty: none. */
static void mapped_path(uint64_t at, char *path, size_t bytes) {
    struct hd_proc_mapping m;
    int fd = hd_os_open(AT_FDCWD, "/proc/self/maps");
    path[0] = 0;
    (void)hd_proc_find_mapping(fd, at, &m, path, bytes);
    hd_os_close(fd);
}

void hd_image_program_path(char *path, size_t bytes) {
    path[0] = 0;
    if (getauxval(AT_BASE) ==
        0) { /* no loader was mapped: the executed file is a loader, or a static program */
        mapped_path(getauxval(AT_PHDR), path, bytes); /* a loader sets AT_PHDR to the program's headers */
    }
    if (path[0] == 0) {
        long n = hd_os.readlink_at(AT_FDCWD, "/proc/self/exe", path, bytes - 1);
        path[n > 0 && (size_t)n < bytes ? n : 0] = 0;
    }
}

/* The path of a library. The loader's name may be relative or a descriptor (LD_LIBRARY_PATH=.,
 * dlopen("./plugin.so")), and means nothing to a reader elsewhere: then takes the path from /proc. The vDSO
 * has only the loader's name. */
static void library_path(const struct hd_memory *memory, uint64_t name, uint64_t at, char *path,
                         size_t bytes) {
    (void)hd_image_read_string(memory, name, path, bytes);
    if (path[0] == '/' && strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/dev/fd/", 8) != 0) {
        return;
    }
    mapped_path(at, path, bytes);
    if (path[0] == 0) {
        (void)hd_image_read_string(memory, name, path, bytes);
    }
}

/* By the program's file: of a module in memory nothing leads to its .eh_frame but .eh_frame_hdr. */
static void find_eh_frame(struct hd_module *program) {
    char path[512];
    hd_image_program_path(path, sizeof path);
    int fd = hd_os_open(AT_FDCWD, path);
    if (fd >= 0) {
        hd_elf_eh_frame(fd, program);
        hd_os_close(fd);
    }
}

/* Fills lo, hi, eh_frame_hdr and handle. */
static int find_object(const struct hd_memory *memory, uint64_t pc, struct hd_module *out) {
    struct dl_find_object object;
    struct hd_loaded_object listed;
    if (_dl_find_object == NULL) {
        int rc = hd_loader_list_find(memory, getauxval(AT_PHDR), getauxval(AT_PHNUM), pc, &listed);
        if (rc == 0) {
            out->lo = listed.lo;
            out->hi = listed.hi;
            out->eh_frame_hdr = listed.eh_frame_hdr;
            out->handle = listed.link_map;
        }
        return rc;
    }
    if (_dl_find_object((void *)(uintptr_t)pc, &object) != 0) {
        return -ENOENT;
    }
    out->lo = (uint64_t)(uintptr_t)object.dlfo_map_start;
    out->hi = (uint64_t)(uintptr_t)object.dlfo_map_end;
    out->eh_frame_hdr = (uint64_t)(uintptr_t)object.dlfo_eh_frame;
    out->handle = (uint64_t)(uintptr_t)object.dlfo_link_map;
    return 0;
}

static int find_live(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path,
                     size_t path_bytes) {
    struct link_map map;
    int error = find_object(&m->memory, pc, out);
    if (error != 0) {
        return error;
    }
    /* Only the public head of the record: address, name, dynamic section. */
    if (!hd_memory_read(&m->memory, out->handle, &map, offsetof(struct link_map, l_next))) {
        return -EFAULT;
    }
    out->bias = map.l_addr;
    char first = 0;
    uint64_t name = (uint64_t)(uintptr_t)map.l_name;
    (void)hd_memory_read(&m->memory, name, &first, 1);
    out->main_program = first == 0;
    out->header = out->lo;
    if (out->main_program) {
        hd_elf_whole_program(&m->memory, getauxval(AT_PHDR), getauxval(AT_PHNUM), out);
    }
    if (path != NULL && path_bytes != 0) {
        path[0] = 0;
        if (out->main_program) {
            hd_image_program_path(path, path_bytes); /* the loader knows it by an empty name */
        } else {
            library_path(&m->memory, name, out->lo, path, path_bytes);
        }
    }
    (void)hd_elf_headers(&m->memory, out); /* without a header there is no build-id, and no harm done */
    if (out->main_program && out->eh_frame_hdr == 0) {
        find_eh_frame(out);
    }
    return 0;
}

int hd_modules_program(struct hd_modules *m) {
    return hd_modules_at(m, getauxval(AT_ENTRY));
}

void hd_modules_init_live(struct hd_modules *m, int mem_fd) {
    hd_modules_reset(m);
    m->lost = 0;
    m->paths[HD_MODULE_PATHS_BYTES - 1] = 0;
    m->memory =
        (struct hd_memory){.read = read_live, .touched = touched_live, .ctx = (void *)(intptr_t)mem_fd};
    m->find = find_live;
    m->find_ctx = NULL;
    m->is_code = NULL;
}
