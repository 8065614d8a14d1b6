/* SPDX-License-Identifier: MIT */
#include "report/spool_path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "os/os.h"

/* Gives the owner all rights to a folder, which may not be readable yet. Changes the folder by its
 * descriptor: another user who may write to the parent could put a link of that name there. */
static void allow_to_enter(int dir, const char *name, int place) {
    char path[48];
    struct stat st;
    struct hd_text t;
    if (hd_os.stat_at(place, "", &st, 0) == 0 && (st.st_mode & 0700) != 0700) {
        hd_text_init(&t, path, sizeof path);
        hd_text_str(&t, "/proc/thread-self/fd/");
        hd_text_u64(&t, (uint64_t)place);
        int r = hd_os.chmod_at(AT_FDCWD, path, (int)(st.st_mode | 0700));
        if (r == -ENOENT) { /* the program has another root, without /proc */
            (void)hd_os.chmod_at(dir, name, (int)(st.st_mode | 0700));
        }
    }
}

int hd_spool_enter_folder(int dir, const char *name) {
    int fd = hd_os_open_folder(dir, name, true);
    if (fd != -ENOENT) {
        return fd;
    }
    int r = hd_os.mkdir_at(dir, name, 0700);
    if (r < 0 && r != -EEXIST) {
        return r;
    }
    fd = hd_os_open_folder(dir, name, r != 0);
    if (r == 0 && fd >= 0) {
        allow_to_enter(dir, name, fd);
    }
    return fd;
}

/* Follows `path` component by component, so a path of any length needs the buffer of one name only. */
int hd_spool_enter_path(const char *path, char *name, size_t size, int *above_fd) {
    int fd = hd_os_open_folder(AT_FDCWD, path[0] == '/' ? "/" : ".", true);
    while (fd >= 0) {
        while (*path == '/') {
            path++;
        }
        if (*path == 0) {
            break;
        }
        size_t n = 0;
        while (path[n] != 0 && path[n] != '/') {
            n++;
        }
        int next = -ENAMETOOLONG;
        if (n < size) {
            memcpy(name, path, n);
            name[n] = 0;
            next = hd_spool_enter_folder(fd, name);
        }
        hd_os_close(*above_fd);
        *above_fd = fd;
        fd = next;
        path += n;
    }
    return fd;
}
