/* SPDX-License-Identifier: MIT
 *
 * The file, socket or pipe that a descriptor of this process refers to. Any thread; no allocation. May block
 * as a query of a file's path may.
 */
#ifndef HD_OS_DARWIN_OPEN_FILE_H
#define HD_OS_DARWIN_OPEN_FILE_H

#include "base/types.h"

enum hd_open_kind {
    HD_OPEN_UNKNOWN, /* the descriptor is closed, or of a kind that is not listed here */
    HD_OPEN_FILE,    /* `path` is valid */
    HD_OPEN_FIFO,    /* a named pipe; `path` is valid */
    HD_OPEN_DEVICE,  /* `path` is valid */
    HD_OPEN_PIPE,
    HD_OPEN_KQUEUE,
    HD_OPEN_INET,  /* `address`, `v6` and `port` are valid if `port` is not 0 */
    HD_OPEN_LOCAL, /* a local socket; `path` is the path of the peer, or empty */
};

struct hd_open_file {
    enum hd_open_kind kind;
    char path[256]; /* the end of a longer path */
    uint8_t address[16];
    bool v6;
    uint32_t port;
};

/* Reads what `fd` refers to. Another thread may close `fd` at any time. */
void hd_open_file_read(int fd, struct hd_open_file *out);

#endif
