/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: see the library's own (report/spool.c), which must not wait for a lock.
 */
#include "cli/base/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100 /* each is lost to another sweeper, who takes the file between open and lock */

/* 1: it is ours. 0: a sweeper has removed it. Or a negative errno value. */
static int lock(int fd) {
    struct stat st;
    while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {
    } /* other errors: a file system without locks */
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    if ((st.st_mode & 0600) != 0600) { /* a umask may mask the owner's bits: others open it by its name */
        fchmod(fd, 0600);
    }
    return st.st_nlink == 0 ? 0 : ftruncate(fd, 0) == 0 ? 1 : -errno;
}

int temp_file_open(const char *path) {
    for (int i = 0; i < TRIES; i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        int locked = fd >= 0 ? lock(fd) : -errno;
        if (locked > 0) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
        if (locked < 0) {
            return locked;
        }
    }
    return -EBUSY;
}
