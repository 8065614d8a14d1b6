/* SPDX-License-Identifier: MIT */
#include "cause/darwin/descriptor.h"

#include <string.h>

#include "base/text.h"
#include "cause/address.h"
#include "os/darwin/open_file.h"
#include "os/darwin/syscall_number.h"
#include "os/syscall_table.h"

#define PATH_BYTES 1024u  /* the longest path of a call, with its NUL */
#define SET_FDS 16u       /* at most so many descriptors of a set are read */
#define SELECT_BYTES 128u /* of the bits of a set of select */
#define PAGE_BYTES 4096u  /* no page of Darwin is smaller */

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static enum hd_fd_kind kind_of_device(const char *path) {
    return starts_with(path, "/dev/tty") || strcmp(path, "/dev/console") == 0 ? HD_FD_TTY : HD_FD_OTHER;
}

static enum hd_fd_kind kind_of(const struct hd_open_file *file) {
    switch (file->kind) {
    case HD_OPEN_FILE:
        return HD_FD_FILE;
    case HD_OPEN_DEVICE:
        return kind_of_device(file->path);
    case HD_OPEN_FIFO:
    case HD_OPEN_PIPE:
        return HD_FD_PIPE;
    case HD_OPEN_KQUEUE:
        return HD_FD_EVENT;
    case HD_OPEN_INET:
        return HD_FD_INET;
    case HD_OPEN_LOCAL:
        return HD_FD_UNIX;
    case HD_OPEN_UNKNOWN:
        break;
    }
    return HD_FD_NONE;
}

static void store(const struct hd_open_file *file, struct hd_probe *out) {
    struct hd_text t;
    out->evidence.kind = HD_EVIDENCE_DESCRIPTOR;
    out->evidence.descriptor = (struct hd_descriptor_seen){.kind = (uint8_t)kind_of(file)};
    if (file->kind == HD_OPEN_LOCAL) {
        hd_text_base_name(out->peer.name, sizeof out->peer.name, file->path);
    } else if (file->kind == HD_OPEN_INET && file->port != 0) {
        hd_text_init(&t, out->peer.name, sizeof out->peer.name);
        hd_address_add(&t, file->address, file->v6, file->port);
    } else {
        hd_text_base_name(out->evidence.name, sizeof out->evidence.name, file->path);
    }
}

void hd_descriptor_find(int fd, struct hd_probe *out) {
    struct hd_open_file file;
    hd_open_file_read(fd, &file);
    store(&file, out);
}

/* ---- a path in memory --------------------------------------------------------------------------- */

/* Copies the path at `address`, page by page, since the next page may not be mapped. False: the path cannot
 * be read to its end, or is empty. */
static bool read_path(const struct hd_probe_context *ctx, uint64_t address, char path[PATH_BYTES]) {
    size_t used = 0;
    while (used < PATH_BYTES) {
        size_t n = PAGE_BYTES - (address + used) % PAGE_BYTES;
        n = n < PATH_BYTES - used ? n : PATH_BYTES - used;
        if (!hd_memory_read(&ctx->modules->memory, address + used, path + used, n)) {
            return false;
        }
        if (memchr(path + used, '\0', n) != NULL) {
            return path[0] != '\0';
        }
        used += n;
    }
    return false;
}

/* A query of the file's type could block the worker, as it blocks the thread. So only the path shows it. */
void hd_descriptor_of_file(const struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                           struct hd_probe *out) {
    char path[PATH_BYTES];
    enum hd_object object = hd_syscall_object(nr);
    out->evidence.kind = HD_EVIDENCE_DESCRIPTOR;
    if (object == HD_OBJECT_DESCRIPTOR) {
        hd_descriptor_find((int)c->syscall_args[0], out);
    } else if (object != HD_OBJECT_NONE) {
        out->evidence.descriptor.kind = HD_FD_FILE;
        if (read_path(ctx, c->syscall_args[object == HD_OBJECT_SECOND_PATH], path)) {
            hd_text_base_name(out->evidence.name, sizeof out->evidence.name, path);
            if (starts_with(path, "/dev/")) {
                out->evidence.descriptor.kind = (uint8_t)kind_of_device(path);
            }
        }
    }
}

/* ---- sets --------------------------------------------------------------------------------------- */

/* Returns the number of descriptors in `fds`; -1: the set is not empty, or not known to be, and none was
 * read. */
static int read_poll(const struct hd_memory *memory, const struct hd_capture *c, int fds[SET_FDS]) {
    struct {
        int32_t fd;
        int16_t events, seen;
    } set[SET_FDS];
    uint32_t all = (uint32_t)c->syscall_args[1], n = all < SET_FDS ? all : SET_FDS;
    int count = 0;
    if (n != 0 && !hd_memory_read(memory, c->syscall_args[0], set, n * sizeof set[0])) {
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (set[i].fd >= 0) {
            fds[count++] = set[i].fd;
        }
    }
    return count == 0 && n < all ? -1 : count;
}

static int read_select(const struct hd_memory *memory, const struct hd_capture *c, int fds[SET_FDS]) {
    int count = 0;
    bool unread = false;
    uint32_t all = ((uint32_t)c->syscall_args[0] + 7) / 8, n = all < SELECT_BYTES ? all : SELECT_BYTES;
    for (unsigned set = 1; set <= 3 && n != 0; set++) {
        uint8_t bits[SELECT_BYTES] = {0};
        if (c->syscall_args[set] == 0) {
            continue;
        }
        unread |= !hd_memory_read(memory, c->syscall_args[set], bits, n) || n < all;
        for (unsigned fd = 0; fd < n * 8 && count < (int)SET_FDS; fd++) {
            if ((bits[fd / 8] >> (fd % 8) & 1) != 0) {
                fds[count++] = (int)fd;
            }
        }
    }
    return count == 0 && unread ? -1 : count;
}

static int read_set(const struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                    int fds[SET_FDS]) {
    enum {
        SELECT = 93,
        PSELECT = 394,
        POLL = 230
    };
    switch (hd_syscall_cancellable(nr)) {
    case POLL:
        return read_poll(&ctx->modules->memory, c, fds);
    case SELECT:
    case PSELECT:
        return read_select(&ctx->modules->memory, c, fds);
    default: /* a kqueue, whose members are not known */
        fds[0] = (int)c->syscall_args[0];
        return 1;
    }
}

/* The kind that explains most has the largest value: a peer does, a pipe of the program itself hardly. */
static unsigned weight_of(enum hd_open_kind kind) {
    return kind == HD_OPEN_INET ? 4 : kind == HD_OPEN_LOCAL ? 3 : kind == HD_OPEN_UNKNOWN ? 1 : 2;
}

void hd_descriptor_of_set(const struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                          struct hd_probe *out) {
    int fds[SET_FDS], count = read_set(ctx, nr, c, fds);
    struct hd_open_file best = {.kind = HD_OPEN_UNKNOWN};
    unsigned weight = 0;
    for (int i = 0; i < count; i++) {
        struct hd_open_file file;
        hd_open_file_read(fds[i], &file);
        if (weight_of(file.kind) > weight) {
            weight = weight_of(file.kind);
            best = file;
        }
    }
    if (count != 0) {
        store(&best, out);
    }
}
