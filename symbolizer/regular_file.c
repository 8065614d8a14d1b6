/* SPDX-License-Identifier: MIT
 *
 * O_PATH first, which has no effect on a device or pipe; then fstat; then an open of the same file through
 * /proc.
 */
#include "symbolizer/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int regular_file_open(const char *path, struct stat *st) {
    char again[32];
    const int how = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int place = open(path, O_PATH | O_CLOEXEC), fd = -1, error;
    if (place < 0) {
        return -1;
    }
    if (fstat(place, st) != 0) {
        error = errno;
    } else if (!S_ISREG(st->st_mode)) {
        error = 0;
    } else {
        snprintf(again, sizeof again, "/proc/self/fd/%d", place);
        fd = open(again, how);
        if (fd < 0 &&
            (errno == ENOENT || errno == EACCES)) { /* no /proc, or a process that has dropped rights */
            fd = open(path, how);
        }
        error = errno;
    }
    close(place);
    errno = error;
    return fd;
}
