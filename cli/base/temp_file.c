/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: see the library's own (report/spool.c), which must not wait for a lock.
 */
#include "cli/base/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TRIES 1000 /* each is lost to a sweeper, who takes the file between open and lock, or to a writer */
#define PAUSE_NS 1000000

/* 1: it is ours. 0: a sweeper has removed it, or another writer has it. Or a negative errno value. */
static int lock(int fd, const char *path) {
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return -errno;
    }
    if (st.st_nlink > 1) { /* another user with write access has put a link to a file here */
        return unlink(path) == 0 ? 0 : -errno;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        return 0;
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
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        int locked = fd >= 0 ? lock(fd, path) : -errno;
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
