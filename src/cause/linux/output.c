/* SPDX-License-Identifier: MIT */
#include "cause/linux/output.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>

#include "base/text.h"
#include "cause/linux/holder.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

static bool writes(const struct hd_capture *c, enum hd_fd_kind kind) {
    switch (c->syscall_nr) {
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
        return true;
    case SYS_ioctl: /* tcdrain, and tcsetattr with TCSADRAIN or TCSAFLUSH, wait until the output is read */
        return kind == HD_FD_TTY && (c->syscall_args[1] == TCSBRK || c->syscall_args[1] == TCSETSW ||
                                     c->syscall_args[1] == TCSETSF);
    default:
        return false;
    }
}

/* The terminal's emulator has the terminal's master, and mostly started the leader of the session. If Hangdog
 * may not read the descriptors of the leader's parent, such as sshd, that parent counts. The parent comes
 * first because containers have terminals of equal numbers. */
static int32_t emulator_of(const struct hd_probe_context *ctx, const char *link) {
    char path[32], unused[8];
    struct hd_proc_stat own = hd_proc_stat_read(ctx->proc_fd, "stat");
    hd_proc_process_path(path, sizeof path, own.session, "stat");
    struct hd_proc_stat leader = hd_proc_stat_read(ctx->proc_fd, path);
    int32_t parent = own.terminal != 0 && leader.terminal == own.terminal ? (int32_t)leader.parent : 0;
    if (hd_holder_has(ctx, parent, HD_HOLDER_HAS_MASTER, link)) {
        return parent;
    }
    hd_proc_process_path(path, sizeof path, (uint64_t)parent, "fd/0");
    bool hidden = parent > 0 && hd_os.readlink_at(ctx->proc_fd, path, unused, sizeof unused) == -EACCES;
    return hidden ? parent : hd_holder_find(ctx, HD_HOLDER_HAS_MASTER, link);
}

/* A user may not see journald's descriptors. */
static int32_t socket_reader(const struct hd_probe_context *ctx, const struct hd_probe *p) {
    int32_t pid = hd_holder_has_peer(ctx, p->evidence.descriptor.inode);
    bool journal = strcmp(p->peer.name, "dev-log") == 0 || strcmp(p->peer.name, "stdout") == 0;
    return pid == 0 && journal ? hd_holder_named(ctx, "systemd-journal") : pid;
}

void hd_output_find(struct hd_probe_context *ctx, int tid, const struct hd_capture *c, struct hd_probe *out) {
    enum hd_fd_kind kind = hd_evidence_fd_kind(out);
    char path[48], link[512];
    if (out->state != HD_RUN_BLOCKED || (kind != HD_FD_PIPE && kind != HD_FD_TTY && kind != HD_FD_UNIX) ||
        !writes(c, kind)) {
        return;
    }
    int fd = (int)c->syscall_args[0];
    uint64_t object =
        (uint64_t)fd << 32 | 1; /* a descriptor is enough: the call lasts, and so does its file */
    if (hd_holder_recall(ctx, tid, object, out)) {
        return;
    }
    hd_proc_task_fd_path(path, sizeof path, tid, "fd", fd);
    long n = hd_os.readlink_at(ctx->proc_fd, path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    int32_t pid = 0;
    if (kind == HD_FD_PIPE) {
        pid = hd_holder_find(ctx, HD_HOLDER_READS_PIPE, link);
    } else if (kind == HD_FD_UNIX) {
        pid = socket_reader(ctx, out);
    } else if (hd_proc_starts_with(link, "/dev/")) {
        struct hd_text t;
        hd_text_init(&t, out->evidence.name, sizeof out->evidence.name);
        hd_text_str(&t, link + strlen("/dev/"));
        pid = emulator_of(ctx, link);
    }
    hd_holder_set(ctx, HD_PARTY_READER, pid, out);
    hd_holder_store(ctx, tid, object, out);
}
