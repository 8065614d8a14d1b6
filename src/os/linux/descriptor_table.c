/* SPDX-License-Identifier: MIT
 *
 * A descriptor table of the calling thread's own. The kernel gives an empty one by one call since 5.9; where
 * that one is not there, or is denied, there is an older one that gives a copy. Closing the copies is seen by
 * nobody: what a close ends besides (POSIX locks, a terminal's or a disk's use) belongs to the table, or goes
 * with the last of all descriptors. Runs anywhere: async-signal-safe, no allocation, no errno.
 */
#include "os/linux/descriptor_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>

#include "os/linux/syscall.h"
#include "os/os.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#define CLONE_TREE 1          /* OPEN_TREE_CLONE */
#define NUMBERS_MAX (1 << 20) /* the kernel's own limit (fs.nr_open), if nobody raised it */

int hd_own_table(void) {
    if (hd_syscall3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0) {
        return 0;
    }
    long rc = hd_syscall1(SYS_unshare, CLONE_FILES);
    return rc == 0 ? 1 : (int)rc;
}

/* "." and ".." are none: -1. */
static int number_of(const char *name) {
    int number = 0;
    for (; *name >= '0' && *name <= '9'; name++) {
        number = number * 10 + (*name - '0');
    }
    return *name == '\0' ? number : -1;
}

/* By what /proc says of this thread: its positions are the numbers, so that closing skips none. False: it
 * says nothing, or not of us. */
static bool close_listed(void) {
    _Alignas(struct dirent64) char entries[1024];
    int own = hd_os.open_at(AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long bytes = own;
    bool listed = false;
    while (own >= 0 && (bytes = hd_os.getdents(own, entries, sizeof entries)) > 0) {
        for (long at = 0; at < bytes;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(entries + at);
            int number = number_of(e->d_name);
            at += e->d_reclen;
            listed |= number == own;
            if (number != own) {
                hd_os_close(number);
            }
        }
    }
    hd_os_close(own);
    return bytes == 0 && listed;
}

void hd_own_table_free(void) {
    if (!close_listed()) {
        for (int number = 0; number < NUMBERS_MAX; number++) {
            hd_os_close(number);
        }
    }
}

/* By a mount of its own, which is nowhere: at its top ".." leads to itself. */
int hd_own_table_confine(int fd) {
    long tree = fd < 0 ? fd : hd_syscall3(SYS_open_tree, fd, "", CLONE_TREE | O_CLOEXEC | AT_EMPTY_PATH);
    int confined = tree < 0 ? -1 : hd_os.open_at((int)tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    hd_os_close((int)tree);
    hd_os_close(fd);
    return confined < 0 ? -1 : confined;
}
