/* SPDX-License-Identifier: MIT */
#include "cli/run/inherited_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int *inherited;
static size_t count;

static bool add(int fd) {
    static size_t room;
    if (count == room) {
        size_t more = room != 0 ? 2 * room : 64;
        int *grown = realloc(inherited, more * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        inherited = grown;
        room = more;
    }
    inherited[count++] = fd;
    return true;
}

void inherited_find(void) {
    bool added = add(STDIN_FILENO) && add(STDOUT_FILENO) && add(STDERR_FILENO);
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) {
        return;
    }
    for (const struct dirent *e; added && (e = readdir(dir)) != NULL;) {
        int fd = (int)strtol(e->d_name, NULL, 10);
        bool ours = fd == dirfd(dir) ||
                    (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; /* an inherited descriptor has no FD_CLOEXEC */
        added = fd <= STDERR_FILENO || ours || add(fd);
    }
    closedir(dir);
}

static bool has_posix_lock(int fd) {
    char path[40], line[256];
    bool has = false;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    FILE *info = fopen(path, "re");
    while (info != NULL && !has && fgets(line, sizeof line, info) != NULL) {
        has = strncmp(line, "lock:", 5) == 0 && strstr(line, " POSIX ") != NULL;
    }
    if (info != NULL) {
        fclose(info);
    }
    return has;
}

/* True: a close of `fd` would release a POSIX lock. A lock from before the exec belongs to this process, not
 * to the program, and any close of the file releases the lock. `locked`: the files with such a lock. */
static bool keeps_a_lock(int fd, const struct stat *locked, size_t locks) {
    struct stat st;
    bool keeps = false;
    bool known = locks > 0 && fstat(fd, &st) == 0;
    for (size_t i = 0; known && i < locks && !keeps; i++) {
        keeps = locked[i].st_ino == st.st_ino && locked[i].st_dev == st.st_dev;
    }
    return keeps;
}

void inherited_close(void) {
    struct stat *locked = calloc(count + 1, sizeof *locked);
    size_t locks = 0;
    if (locked == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct stat *st = &locked[locks];
        locks += fstat(inherited[i], st) == 0 && S_ISREG(st->st_mode) && has_posix_lock(inherited[i]);
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < count; i++) {
        int fd = inherited[i];
        if (fd == STDERR_FILENO || keeps_a_lock(fd, locked, locks)) {
            continue;
        }
        if (fd > STDERR_FILENO) {
            close(fd);
        } else if (null >= 0) {
            dup2(null, fd);
        }
    }
    if (null >= 0) {
        close(null);
    }
    free(locked);
}
