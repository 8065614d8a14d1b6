/* SPDX-License-Identifier: MIT
 *
 * Worker: what a descriptor is, by its link in /proc. No allocation.
 */
#include "monitor/descriptor.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/text.h"
#include "monitor/peer.h"
#include "monitor/proc_files.h"
#include "os/os.h"

/* By the name of its protocol, which is asked for by a whole path: without it (another root, no /proc there)
 * local sockets are known to the kernel's socket monitor, and most others are the network's. */
static enum hd_fd_kind socket_kind(const char *path_in_self, uint64_t inode) {
    static const char of_network[][5] = {"TCP", "UDP", "RAW", "MPTC", "SCTP"}; /* and TCPv6, UDP-Lite … */
    char path[64], name[16] = {0};
    struct hd_text t;
    hd_text_init(&t, path, sizeof path);
    hd_text_str(&t, "/proc/self/");
    hd_text_str(&t, path_in_self);
    long n = hd_os.get_xattr(path, "system.sockprotoname", name, sizeof name - 1);
    if (n <= 0) {
        return hd_peer_of_unix(inode, NULL, 0) ? HD_FD_UNIX : HD_FD_INET;
    }
    for (unsigned i = 0; i < sizeof of_network / sizeof of_network[0]; i++) {
        if (hd_starts_with(name, of_network[i])) {
            return HD_FD_INET;
        }
    }
    return hd_starts_with(name, "UNIX") ? HD_FD_UNIX : HD_FD_OTHER;
}

/* A serial port is none: /dev/ttyUSB0, ttyS0. */
static bool is_terminal(const char *link) {
    uint64_t number;
    return hd_starts_with(link, "/dev/pts/") || strcmp(link, "/dev/console") == 0 ||
           (hd_starts_with(link, "/dev/tty") && *hd_take_number(link + strlen("/dev/tty"), &number) == '\0');
}

enum hd_fd_kind hd_device_kind(const char *path) {
    if (!hd_starts_with(path, "/dev/")) {
        return HD_FD_NONE;
    }
    return is_terminal(path) ? HD_FD_TTY : HD_FD_OTHER;
}

/* The links of memory look like paths. */
static bool is_memory(const char *link) {
    return hd_starts_with(link, "/memfd:") || hd_starts_with(link, "/dmabuf:") ||
           hd_starts_with(link, "/SYSV");
}

static bool is_named_pipe(int proc_fd, const char *path_in_self) {
    uint32_t type;
    return hd_os.file_type_at(proc_fd, path_in_self, &type) == 0 && type == S_IFIFO;
}

enum hd_fd_kind hd_fd_kind_of(int proc_fd, int tid, int fd, struct hd_evidence *out) {
    char path[48], link[PATH_MAX]; /* of which the end is told */
    hd_task_fd_path(path, sizeof path, tid, "fd", fd);
    long n = hd_os.readlink_at(proc_fd, path, link, sizeof link - 1);
    if (n <= 0) {
        return HD_FD_NONE;
    }
    link[n] = '\0';
    if (hd_starts_with(link, "socket:[")) {
        hd_take_number(link + strlen("socket:["), &out->socket);
        return socket_kind(path, out->socket);
    }
    if (hd_starts_with(link, "pipe:")) {
        return HD_FD_PIPE;
    }
    if (hd_starts_with(link, "anon_inode:")) {
        return strcmp(link, "anon_inode:[eventpoll]") == 0 ? HD_FD_EPOLL : HD_FD_EVENT;
    }
    enum hd_fd_kind device = hd_device_kind(link);
    if (device != HD_FD_NONE) {
        return device;
    }
    if (link[0] != '/' || is_memory(link)) {
        return HD_FD_OTHER;
    }
    if (is_named_pipe(proc_fd, path)) {
        return HD_FD_PIPE;
    }
    hd_text_base_name(out->path, sizeof out->path, link);
    return HD_FD_FILE;
}
