/* SPDX-License-Identifier: MIT
 *
 * Since 5.9 the kernel makes an empty table by close_range. Where that call is missing or denied, unshare
 * makes a copy of the program's table, and the copies are closed one by one. The program does not notice:
 * POSIX locks belong to a table. Other effects need the close of the last descriptor.
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
#define NUMBERS_MAX (1 << 20) /* the kernel's default limit (fs.nr_open) */

int hd_private_table(void) {
    if (hd_syscall3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0) {
        return 0;
    }
    long rc = hd_syscall1(SYS_unshare, CLONE_FILES);
    return rc == 0 ? 1 : (int)rc;
}

/* -1: not a number, but "." or "..". */
static int number_of(const char *name) {
    int number = 0;
    for (; *name >= '0' && *name <= '9'; name++) {
        number = number * 10 + (*name - '0');
    }
    return *name == '\0' ? number : -1;
}

/* Closes the descriptors that /proc lists. A position in the listed folder is a descriptor's number, so a
 * close during the walk skips no entry. False: /proc cannot be read, or shows another thread's folder. */
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

void hd_private_table_close_all(void) {
    if (!close_listed()) {
        for (int number = 0; number < NUMBERS_MAX; number++) {
            hd_os_close(number);
        }
    }
}

/* Opens the folder through a detached mount (open_tree), at whose top ".." is the folder itself. */
int hd_private_table_confine(int fd) {
    long tree = fd < 0 ? fd : hd_syscall3(SYS_open_tree, fd, "", CLONE_TREE | O_CLOEXEC | AT_EMPTY_PATH);
    int confined = tree < 0 ? -1 : hd_os.open_at((int)tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    hd_os_close((int)tree);
    hd_os_close(fd);
    return confined < 0 ? -1 : confined;
}
