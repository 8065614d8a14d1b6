/* SPDX-License-Identifier: MIT
 *
 * A sandbox may deny to open the folders above an app's own. So the path is opened as a whole first, and only
 * missing folders at its end are made. The path is at most PATH_MAX bytes long, as for each call here.
 *
 * A folder that we make has only our files, so it gets the class that a locked device can write. A folder
 * that was there keeps its class.
 */
#include "report/spool_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "os/darwin/file_protection.h"
#include "os/os.h"

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
    if (fd >= 0 && r == 0) {
        hd_file_protection_lower(fd);
    }
    return fd;
}

/* Makes the folders of `path` that are missing, but not the last one. Changes `path` meanwhile. */
static int make_parents(char *path) {
    size_t end = strlen(path);
    int r = -ENOENT;
    /* backwards to the longest part that exists, or can be made */
    while (r == -ENOENT) {
        while (end > 0 && path[end - 1] != '/') {
            end--;
        }
        while (end > 0 && path[end - 1] == '/') {
            end--;
        }
        if (end == 0) {
            return 0;
        }
        char slash = path[end];
        path[end] = '\0';
        r = hd_os.mkdir_at(AT_FDCWD, path, 0700);
        path[end] = slash;
    }
    /* forwards again */
    while (r == 0 || r == -EEXIST || r == -EISDIR) {
        while (path[end] == '/') {
            end++;
        }
        while (path[end] != '\0' && path[end] != '/') {
            end++;
        }
        if (path[end] == '\0') {
            return 0;
        }
        char slash = path[end];
        path[end] = '\0';
        r = hd_os.mkdir_at(AT_FDCWD, path, 0700);
        path[end] = slash;
    }
    return r;
}

int hd_spool_enter_path(const char *path, char *name, size_t size, int *above_fd) {
    char whole[PATH_MAX];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    if (n >= sizeof whole) {
        return -ENAMETOOLONG;
    }
    memcpy(whole, path, n);
    whole[n] = '\0';
    char *last = strrchr(whole, '/');
    const char *text = last != NULL ? last + 1 : whole;
    if (strlen(text) >= size) {
        return -ENAMETOOLONG;
    }
    memcpy(name, text, strlen(text) + 1);
    int fd = hd_os_open_folder(AT_FDCWD, whole, true);
    if (fd == -ENOENT) {
        int r = make_parents(whole);
        fd = r < 0 ? r : hd_spool_enter_folder(AT_FDCWD, whole);
    }
    if (fd >= 0) {
        /* the parent, to make the folder again after its removal */
        if (last != NULL) {
            last[last == whole] = '\0';
        }
        *above_fd = hd_os_open_folder(AT_FDCWD, last != NULL ? whole : ".", true);
    }
    return fd;
}
