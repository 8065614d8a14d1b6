/* SPDX-License-Identifier: MIT */
#include "cli/outside/recognise_listens.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_lines.h"
#include "os/os.h"

#define LINES_MAX 4096 /* of a table of local sockets; those of the network list what listens first */
#define STATE_LISTEN 10u
#define FLAG_ACCEPTS 0x10000u /* __SO_ACCEPTCON */

/* "   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4217 1 ..."
 * "0000000000000000: 00000002 00000000 00010000 0001 01  3911 /run/..." */
enum listens outside_listens_parse(const char *line, bool local, uint64_t *inode) {
    unsigned state = 0, flags = 0;
    *inode = 0;
    if (local) {
        return sscanf(line, "%*[^:]: %*x %*x %x %*x %*x %" SCNu64, &flags, inode) == 2 &&
                       (flags & FLAG_ACCEPTS) != 0
                   ? LISTENS
                   : LISTENS_NOT;
    }
    if (sscanf(line, " %*u: %*s %*s %x %*s %*s %*s %*u %*u %" SCNu64, &state, inode) != 2) {
        return LISTENS_NOT; /* the table's head */
    }
    return state == STATE_LISTEN ? LISTENS : LISTENS_END;
}

static void search(int fd, bool local, const uint64_t *inode, struct hd_wait_descriptors *d) {
    struct hd_proc_lines lines;
    const char *line;
    hd_proc_lines_init(&lines, fd);
    for (unsigned n = 0; n < LINES_MAX && (line = hd_proc_lines_next(&lines)) != NULL; n++) {
        uint64_t found;
        enum listens is = outside_listens_parse(line, local, &found);
        if (is == LISTENS_END) {
            return;
        }
        for (unsigned i = 0; is == LISTENS && i < d->fds; i++) {
            d->listens |= (uint16_t)((inode[i] == found && found != 0) << i);
        }
    }
}

void outside_listens(const struct live_process *p, pid_t tid, struct hd_wait_descriptors *d) {
    static const char tables[][16] = {"net/tcp", "net/tcp6", "net/unix"};
    uint64_t inode[HD_WAIT_FDS] = {0}, any = 0;
    char path[48], link[32];
    d->listens = 0;
    for (unsigned i = 0; i < d->fds; i++) {
        hd_proc_task_fd_path(path, sizeof path, tid, "fd", d->fd[i]);
        ssize_t n = readlinkat(p->proc_fd, path, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        if (hd_proc_starts_with(link, "socket:[")) {
            hd_text_take_number(link + strlen("socket:["), &inode[i]);
        }
        any |= inode[i];
    }
    for (unsigned i = 0; any != 0 && i < sizeof tables / sizeof tables[0]; i++) {
        hd_proc_task_path(path, sizeof path, tid, tables[i]);
        int fd = hd_os_open(p->proc_fd, path);
        if (fd >= 0) {
            search(fd, strcmp(tables[i], "net/unix") == 0, inode, d);
            hd_os_close(fd);
        }
    }
}
