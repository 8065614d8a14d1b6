/* SPDX-License-Identifier: MIT
 *
 * Whether this process may hold a POSIX lock on a file: the kernel drops it when any descriptor of the file
 * is closed. Async-signal-safe: between fork and exec, and in handlers.
 */
#include "preload/attach/posix_locks.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "os/os.h"

#define LINE_BYTES 128 /* "1: POSIX  ADVISORY  READ 1234 08:01:5678 0 EOF" */

bool hd_own_locks_may_have(uint64_t inode) {
    char piece[512], line[LINE_BYTES], wanted[32];
    struct hd_text t;
    size_t length = 0;
    long n;
    bool found = false;
    hd_text_init(&t, wanted, sizeof wanted); /* who holds it, and on which device, is not looked at */
    hd_text_str(&t, ":");
    hd_text_u64(&t, inode);
    hd_text_str(&t, " ");
    int fd = hd_os_open(AT_FDCWD, "/proc/locks");
    if (fd < 0) {
        return true;
    }
    while (!found && (n = hd_os.read(fd, piece, sizeof piece)) > 0) {
        for (long i = 0; i < n && !found; i++) {
            line[length] = piece[i] != '\n' ? piece[i] : '\0';
            if (piece[i] == '\n') {
                found = strstr(line, " POSIX ") != NULL && strstr(line, wanted) != NULL;
                length = 0;
            } else if (length + 2 < sizeof line) {
                length++;
            }
        }
    }
    hd_os_close(fd);
    return found;
}
