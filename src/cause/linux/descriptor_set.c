/* SPDX-License-Identifier: MIT */
#include "cause/linux/descriptor_set.h"

#include <poll.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "cause/linux/descriptor.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

/* Writes the descriptors of an epoll instance to `fds`. The instance's file in fdinfo lists them in lines
 * such as "tfd: 8 events: ...". Returns the number of descriptors; -1: the file cannot be read. */
static int epoll_members(const struct hd_probe_context *ctx, int tid, int epfd, int *fds) {
    char text[2048];
    int count = hd_proc_read_epoll(ctx->proc_fd, tid, epfd, text, sizeof text) > 0 ? 0 : -1;
    for (const char *p = text;
         count < HD_SET_DESCRIPTORS_MAX && (p = hd_proc_find_line(p, "tfd:")) != NULL;) {
        uint64_t fd;
        p = hd_text_take_number(p, &fd);
        fds[count++] = (int)fd;
    }
    return count;
}

static int poll_members(const struct hd_probe_context *ctx, const struct hd_capture *c, int *fds) {
    struct pollfd set[HD_SET_DESCRIPTORS_MAX];
    uint64_t n = c->syscall_args[1] < HD_SET_DESCRIPTORS_MAX ? c->syscall_args[1] : HD_SET_DESCRIPTORS_MAX;
    if (n != 0 &&
        hd_os.pread(ctx->mem_fd, set, n * sizeof set[0], c->syscall_args[0]) != (long)(n * sizeof set[0])) {
        return -1;
    }
    int count = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (set[i].fd >= 0) {
            fds[count++] = set[i].fd;
        }
    }
    return count == 0 && n < c->syscall_args[1] ? -1 : count;
}

static int select_members(const struct hd_probe_context *ctx, const struct hd_capture *c, int *fds) {
    int count = 0;
    bool unread = false;
    for (unsigned set = 1; set <= 3; set++) {
        uint8_t bits[128] = {0};
        uint64_t n = (c->syscall_args[0] + 7) / 8;
        n = n < sizeof bits ? n : sizeof bits;
        if (c->syscall_args[set] == 0 || n == 0) {
            continue;
        }
        unread |= hd_os.pread(ctx->mem_fd, bits, n, c->syscall_args[set]) != (long)n;
        for (unsigned fd = 0; fd < n * 8 && count < HD_SET_DESCRIPTORS_MAX; fd++) {
            if ((bits[fd / 8] >> (fd % 8) & 1) != 0) {
                fds[count++] = (int)fd;
            }
        }
    }
    return count == 0 && unread ? -1 : count;
}

int hd_descriptor_set_members(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                              int fds[HD_SET_DESCRIPTORS_MAX]) {
    switch (c->syscall_nr) {
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        return poll_members(ctx, c, fds);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
        return select_members(ctx, c, fds);
    default:
        return epoll_members(ctx, tid, (int)c->syscall_args[0], fds);
    }
}

int32_t hd_descriptor_pidfd_process(const struct hd_probe_context *ctx, int tid, int fd) {
    char path[48], text[256];
    uint64_t pid = 0;
    hd_proc_task_fd_path(path, sizeof path, tid, "fdinfo", fd);
    hd_proc_read(ctx->proc_fd, path, text, sizeof text);
    const char *said = hd_proc_find_line(text, "Pid:");
    if (said != NULL) {
        hd_text_take_number(said, &pid);
    }
    return (int32_t)pid;
}

static uint64_t parent_of(const struct hd_probe_context *ctx, uint64_t pid) {
    char path[32];
    hd_proc_process_path(path, sizeof path, pid, "stat");
    return hd_proc_stat_read(ctx->proc_fd, path).parent;
}

/* Finds the descriptor of the highest rank; array `rank` has the rank of each kind. If the set also has an
 * event descriptor, a child's pidfd counts as an event descriptor, because the thread waits for other events
 * too. */
void hd_descriptor_set_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                            struct hd_probe *out) {
    static const uint8_t rank[] = {
        [HD_FD_INET] = 6, [HD_FD_UNIX] = 5,  [HD_FD_PROCESS] = 4, [HD_FD_PIPE] = 3,  [HD_FD_FILE] = 2,
        [HD_FD_TTY] = 2,  [HD_FD_OTHER] = 1, [HD_FD_EVENT] = 1,   [HD_FD_EPOLL] = 1, [HD_FD_NONE] = 0};
    struct hd_descriptor_seen *d = &out->evidence.descriptor;
    int fds[HD_SET_DESCRIPTORS_MAX];
    int count = hd_descriptor_set_members(ctx, tid, c, fds);
    /* The identity of the descriptor of the highest rank that the loop has found: an inode, or the id of a
     * pidfd's process. 0: the loop has found several of that kind. */
    uint64_t kept = 0;
    bool events = false;
    out->evidence.kind = count != 0 ? HD_EVIDENCE_DESCRIPTOR : HD_EVIDENCE_NONE;
    for (int i = 0; i < count; i++) {
        enum hd_fd_kind kind = hd_descriptor_kind(ctx->proc_fd, tid, fds[i], &out->evidence);
        events |= kind == HD_FD_EVENT;
        if (kind == HD_FD_PROCESS) {
            d->inode = (uint64_t)hd_descriptor_pidfd_process(ctx, tid, fds[i]);
            kind = parent_of(ctx, d->inode) == (uint64_t)ctx->pid ? kind : HD_FD_OTHER;
        }
        if (rank[kind] > rank[d->kind]) {
            d->kind = (uint8_t)kind;
            kept = d->inode;
        } else if (kind == d->kind && d->inode != kept) {
            kept = 0; /* because several descriptors are of this kind, so that there is no single peer */
        }
    }
    if (events && d->kind == HD_FD_PROCESS) {
        d->kind = HD_FD_EVENT;
        kept = 0;
    }
    out->child.pid = d->kind == HD_FD_PROCESS ? (int32_t)kept : 0;
    d->inode = kept;
    /* Clears the file's name that hd_descriptor_kind may have written, because a thread that waits for a set
     * does not wait for one file. */
    out->evidence.name[0] = '\0';
}
