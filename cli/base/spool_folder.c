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

static int enter_path(int at, const char *path, unsigned *links);

/* By the link that was looked at, not by its name. */
static int follow(int at, int link, const struct stat *st, unsigned *links) {
    char target[PATH_MAX];
    if ((geteuid() == 0 && st->st_uid != 0) || ++*links > LINKS_MAX) {
        return -ELOOP;
    }
    ssize_t n = readlinkat(link, "", target, sizeof target - 1);
    if (n < 0) {
        return -errno;
    }
    target[n] = '\0';
    return enter_path(at, target, links);
}

static int enter(int at, const char *name, unsigned *links) {
    struct stat st;
    int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        return -errno;
    }
    if (S_ISDIR(st.st_mode)) {
        return fd;
    }
    int folder = S_ISLNK(st.st_mode) ? follow(at, fd, &st, links) : -ENOTDIR;
    close(fd);
    return folder;
}

/* A descriptor of the folder, or a negative errno value. */
static int enter_path(int at, const char *path, unsigned *links) {
    char name[NAME_MAX + 1];
    int fd = openat(at, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t n; fd >= 0 && *(path += strspn(path, "/")) != '\0'; path += n) {
        n = strcspn(path, "/");
        int next = -ENAMETOOLONG;
        if (n < sizeof name) {
            memcpy(name, path, n);
            name[n] = '\0';
            next = enter(fd, name, links);
        }
        close(fd);
        fd = next;
    }
    return fd;
}

int spool_folder_open(const char *path) {
    unsigned links = 0;
    int fd = enter_path(AT_FDCWD, path, &links);
    if (fd < 0) {
        return fd;
    }
    if (spool.fd >= 0) { /* the number stays: other threads have it in paths */
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
