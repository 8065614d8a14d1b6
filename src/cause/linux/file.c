/* SPDX-License-Identifier: MIT */
#include "cause/linux/file.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "cause/linux/descriptor.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "os/syscall_table.h"

/* Copies the path at `address` from the program's memory to `path`. Reads to the end of the memory page
 * first, because the next page may not be mapped. False: the path cannot be read to its end. */
static bool read_path(const struct hd_probe_context *ctx, uint64_t address, char *path, size_t size) {
    size_t page = 4096 - address % 4096, first = page < size ? page : size;
    long n = hd_os.pread(ctx->mem_fd, path, first, address);
    if (n == (long)first && memchr(path, '\0', first) == NULL && first < size) {
        long more = hd_os.pread(ctx->mem_fd, path + first, size - first, address + first);
        n += more > 0 ? more : 0;
    }
    return n > 0 && memchr(path, '\0', (size_t)n) != NULL;
}

/* Fills *out from the path at `address`. False: the call has no path, or an empty one. Recognises a named
 * pipe only by the thread's wait channel, because a query of the file's type could block the worker. Such a
 * query blocks if the file's server (FUSE) does not answer. */
static bool find_path(const struct hd_probe_context *ctx, int tid, uint64_t address,
                      struct hd_evidence *out) {
    char path[PATH_MAX];
    enum hd_fd_kind device = HD_FD_NONE;
    if (address == 0) {
        return false;
    }
    if (read_path(ctx, address, path, sizeof path)) {
        if (path[0] == '\0') {
            return false;
        }
        hd_text_base_name(out->name, sizeof out->name, path);
        device = hd_descriptor_device_kind(path);
    }
    out->descriptor.kind = hd_descriptor_wchan_kind(ctx->proc_fd, tid) == HD_FD_PIPE ? HD_FD_PIPE
                           : device != HD_FD_NONE                                    ? (uint8_t)device
                                                                                     : HD_FD_FILE;
    return true;
}

void hd_file_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                  struct hd_evidence *out) {
    enum hd_object object = hd_syscall_object(c->syscall_nr);
    out->kind = HD_EVIDENCE_DESCRIPTOR;
    if (object != HD_OBJECT_NONE &&
        (object == HD_OBJECT_DESCRIPTOR ||
         !find_path(ctx, tid, c->syscall_args[object == HD_OBJECT_SECOND_PATH], out))) {
        hd_descriptor_find(ctx->proc_fd, tid, (int)c->syscall_args[0], out);
    }
}

/* ---- the absolute path ------------------------------------------------------------------------------ */

/* Writes the path of the folder that a relative path starts at: the working folder, or that of descriptor
 * `fd`. Returns the path's length; 0: unknown. */
static size_t read_folder(const struct hd_probe_context *ctx, int tid, int fd, char *path, size_t size) {
    char link[48];
    if (fd == AT_FDCWD) {
        hd_proc_task_path(link, sizeof link, tid, "cwd");
    } else {
        hd_proc_task_fd_path(link, sizeof link, tid, "fd", fd);
    }
    long n = hd_os.readlink_at(ctx->proc_fd, link, path, size);
    return n > 0 && (size_t)n < size && path[0] == '/' ? (size_t)n : 0;
}

/* Removes "//", "." and ".." from the absolute path `path`, in place. */
static void shorten(char *path) {
    char *to = path;
    for (const char *at = path; *at != '\0';) {
        size_t n = hd_text_until(at + 1, "/"); /* the length of the part behind the slash */
        if (n == 2 && at[1] == '.' && at[2] == '.') {
            while (to > path && *--to != '/') {
            }
        } else if (n > 0 && !(n == 1 && at[1] == '.')) {
            memmove(to, at, n + 1);
            to += n + 1;
        }
        at += n + 1;
    }
    if (to == path) {
        *to++ = '/';
    }
    *to = '\0';
}

bool hd_file_path(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c, char *path,
                  size_t size) {
    enum hd_object object = hd_syscall_object(c->syscall_nr);
    bool second = object == HD_OBJECT_SECOND_PATH;
    uint64_t address = c->syscall_args[second];
    char first = '\0';
    if ((!second && object != HD_OBJECT_FIRST_PATH) || address == 0 ||
        hd_os.pread(ctx->mem_fd, &first, 1, address) != 1 || first == '\0') {
        return false;
    }
    size_t n = 0;
    if (first != '/') {
        n = read_folder(ctx, tid, second ? (int)c->syscall_args[0] : AT_FDCWD, path, size - 1);
        if (n == 0) {
            return false;
        }
        path[n++] = '/';
    }
    if (!read_path(ctx, address, path + n, size - n)) {
        return false;
    }
    shorten(path);
    return true;
}
