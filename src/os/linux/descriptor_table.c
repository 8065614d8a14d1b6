/* SPDX-License-Identifier: MIT
 *
 * Since Linux 5.9, close_range gives a thread an empty descriptor table. If that call is missing or denied,
 * unshare copies the program's table, and the thread closes each descriptor of the copy.
 *
 * The program does not notice these closes. Its POSIX locks stay, since they belong to its own table. Every
 * other effect of a close happens only when the last copy of a descriptor is closed, and the program still
 * has a copy.
 */
#include "os/descriptor_table.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <string.h>

#include "os/linux/syscall.h"
#include "os/os.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#define CLONE_TREE 1          /* OPEN_TREE_CLONE */
#define NUMBERS_MAX (1 << 20) /* the kernel's default limit of descriptor numbers (fs.nr_open) */

int hd_private_table(void) {
    if (hd_syscall3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) == 0) {
        return 0;
    }
    long rc = hd_syscall1(SYS_unshare, CLONE_FILES);
    return rc == 0 ? 1 : (int)rc;
}

/* Returns the descriptor number that an entry of /proc/thread-self/fd has as its name. -1: the name is "." or
 * "..". */
static int number_of(const char *name) {
    int number = 0;
    for (; *name >= '0' && *name <= '9'; name++) {
        number = number * 10 + (*name - '0');
    }
    return *name == '\0' ? number : -1;
}

/* Closes the descriptors that /proc/thread-self/fd lists. The kernel continues the list by descriptor number,
 * so the list stays whole while descriptors close. False: the list cannot be read, or is another thread's. A
 * list without the descriptor `own` is another thread's. */
static bool close_listed(void) {
    _Alignas(8) char names[1024];
    int own = hd_os.open_at(AT_FDCWD, "/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long bytes = own;
    bool listed = false;
    while (own >= 0 && (bytes = hd_os.read_names(own, names, sizeof names)) > 0) {
        for (long at = 0; at < bytes;) {
            int number = number_of(names + at);
            at += (long)strlen(names + at) + 1;
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

/* Opens the folder again, through a detached mount of it (open_tree). At the top of a mount, ".." is the
 * folder itself. */
int hd_private_table_confine(int fd) {
    long tree = fd < 0 ? fd : hd_syscall3(SYS_open_tree, fd, "", CLONE_TREE | O_CLOEXEC | AT_EMPTY_PATH);
    int confined = tree < 0 ? -1 : hd_os.open_at((int)tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    hd_os_close((int)tree);
    hd_os_close(fd);
    return confined < 0 ? -1 : confined;
}
