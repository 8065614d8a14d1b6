/* SPDX-License-Identifier: MIT */
#include "cli/base/spool_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel's MAXSYMLINKS */

static struct {
    char path[PATH_MAX];
    int fd;
    char by_fd[32];
} spool = {.fd = -1};

struct walk {
    unsigned links;
    bool exposed; /* another user may put a link in a folder's place */
};

static int enter_path(int at, const char *path, struct walk *w);

/* By the link that was looked at, not by its name. */
static int follow(int at, int link, const struct stat *st, struct walk *w) {
    char target[PATH_MAX];
    if ((geteuid() == 0 && st->st_uid != 0) || ++w->links > LINKS_MAX) {
        return -ELOOP;
    }
    ssize_t n = readlinkat(link, "", target, sizeof target - 1);
    if (n < 0) {
        return -errno;
    }
    target[n] = '\0';
    return enter_path(at, target, w);
}

static int enter(int at, const char *name, struct walk *w) {
    struct stat st;
    int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        return -errno;
    }
    if (S_ISDIR(st.st_mode)) {
        w->exposed |= st.st_uid != 0 || ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0);
        return fd;
    }
    int folder = S_ISLNK(st.st_mode) ? follow(at, fd, &st, w) : -ENOTDIR;
    close(fd);
    return folder;
}

/* A descriptor of the folder, or a negative errno value. */
static int enter_path(int at, const char *path, struct walk *w) {
    char name[NAME_MAX + 1];
    int fd = openat(at, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t n; fd >= 0 && *(path += strspn(path, "/")) != '\0'; path += n) {
        n = strcspn(path, "/");
        int next = -ENAMETOOLONG;
        if (n < sizeof name) {
            memcpy(name, path, n);
            name[n] = '\0';
            next = enter(fd, name, w);
        }
        close(fd);
        fd = next;
    }
    return fd;
}

int spool_folder_open(const char *path) {
    struct walk w = {0};
    int fd = enter_path(AT_FDCWD, path, &w);
    if (fd < 0) {
        return fd;
    }
    if (geteuid() != 0 || !w.exposed) { /* a descriptor would keep the removal of the folder from inotify */
        close(fd);
        return 0;
    }
    if (spool.fd >= 0 && spool.fd != fd) { /* the number stays: other threads have it in paths */
        int rc = dup3(fd, spool.fd, O_CLOEXEC) < 0 ? -errno : 0;
        close(fd);
        return rc;
    }
    spool.fd = fd;
    snprintf(spool.path, sizeof spool.path, "%s", path); /* of the first one */
    snprintf(spool.by_fd, sizeof spool.by_fd, "/proc/self/fd/%d", fd);
    return 0;
}

const char *spool_folder(const char *path) {
    struct stat st;
    if (spool.fd < 0 || strcmp(path, spool.path) != 0 || access(spool.by_fd, F_OK) != 0) {
        return path; /* or there is no /proc */
    }
    bool removed = fstat(spool.fd, &st) == 0 && st.st_nlink == 0;
    return removed && spool_folder_open(path) != 0 ? path : spool.by_fd;
}

int spool_folder_fd(void) {
    return spool.fd;
}
