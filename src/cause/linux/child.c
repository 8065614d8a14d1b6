/* SPDX-License-Identifier: MIT */
#include "cause/linux/child.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/text.h"
#include "cause/linux/descriptor.h"
#include "cause/linux/descriptor_set.h"
#include "cause/linux/reply_thread.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"
#include "os/syscall_table.h"

/* The number of levels of the process tree that are searched for a process that reads the terminal: a child,
 * its child, and so on. */
#define TERMINAL_DEPTH 4
/* A child that started at most this long before the turn counts as started in it. The reason: /proc has start
 * times in steps of 10 ms. */
#define CHILD_SLACK_NS (30 * HD_NS_PER_MS)
#define BY_PIDFD 3 /* P_PIDFD, which glibc before 2.36 lacks */

static struct hd_proc_stat process_of(const struct hd_probe_context *ctx, uint64_t pid) {
    char path[32];
    hd_proc_process_path(path, sizeof path, pid, "stat");
    return hd_proc_stat_read(ctx->proc_fd, path);
}

/* Writes to `text` the process ids of the newest children of thread `tid`, separated by blanks. The kernel
 * lists the newest children last, so the loop drops ids from the front if the list does not fit in `text`. */
static void newest_children(const struct hd_probe_context *ctx, int tid, char *text, size_t size) {
    char path[48];
    size_t have = 0;
    long n;
    hd_proc_task_path(path, sizeof path, tid, "children");
    int fd = hd_os_open(ctx->proc_fd, path);
    while (fd >= 0 && (n = hd_os.read(fd, text + have, size - 1 - have)) > 0) {
        have += (size_t)n;
        size_t drop = have > size / 2 ? have - size / 2 : 0;
        for (; drop > 0 && drop < have && text[drop - 1] != ' '; drop++) { /* drops whole ids only */
        }
        have -= drop;
        memmove(text, text + drop, have);
    }
    text[have] = '\0';
    hd_os_close(fd);
}

int32_t hd_child_awaited(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                         int32_t newest) {
    int32_t first = (int32_t)c->syscall_args[0], second = (int32_t)c->syscall_args[1];
    if (c->syscall_nr == SYS_waitid) {
        return first == P_PID      ? second
               : first == BY_PIDFD ? hd_descriptor_pidfd_process(ctx, tid, second)
                                   : newest;
    }
    return c->syscall_nr == SYS_wait4 && first > 0 ? first : newest;
}

void hd_child_name(const struct hd_probe_context *ctx, int32_t pid, char name[16]) {
    char path[32], comm[17];
    long n = 0;
    hd_proc_process_path(path, sizeof path, (uint64_t)pid, "comm");
    int fd = hd_os_open(ctx->proc_fd, path);
    if (fd >= 0) {
        n = hd_os.read(fd, comm, sizeof comm);
    }
    hd_os_close(fd);
    memset(name, 0, 16);
    if (n > 1) {
        memcpy(name, comm, (size_t)n - 1 < 16 ? (size_t)n - 1 : 15); /* drops the newline at the file's end */
    }
}

bool hd_child_by_vfork(const struct hd_probe_context *ctx, const struct hd_capture *c) {
    uint64_t flags = c->syscall_args[0];
    if (c->syscall_nr == SYS_clone3 &&
        hd_os.pread(ctx->mem_fd, &flags, sizeof flags, flags) != sizeof flags) {
        return false;
    }
    return (c->syscall_nr == SYS_clone || c->syscall_nr == SYS_clone3) && (flags & CLONE_VFORK) != 0;
}

static bool has_terminal(const struct hd_proc_stat *own, const struct hd_proc_stat *p) {
    return p->alive && own->terminal != 0 && p->terminal == own->terminal && p->group == own->terminal_group;
}

/* True: the thread reads the terminal, or polls a set of descriptors that contains the terminal. */
static bool waits_for_terminal(const struct hd_probe_context *ctx, int tid) {
    struct hd_capture c;
    struct hd_evidence unused;
    int fds[HD_SET_DESCRIPTORS_MAX], count = 0;
    bool found = false;
    if (hd_thread_syscall(ctx->proc_fd, tid, &c)) {
        fds[0] = (int)c.syscall_args[0];
        count = hd_syscall_wait(c.syscall_nr) == HD_WAIT_ANY ? hd_descriptor_set_members(ctx, tid, &c, fds)
                                                             : c.syscall_nr == SYS_read;
    }
    for (int i = 0; i < count; i++) {
        found |= hd_descriptor_kind(ctx->proc_fd, tid, fds[i], &unused) == HD_FD_TTY;
    }
    return found;
}

/* True: process `pid` uses the terminal, or its newest child does, or that child's newest child, and so on.
 * For example, process `pid` may be a shell that starts the program that the user types to. While the
 * function runs, `ctx` refers to these processes, one after the other. */
static bool uses_terminal(struct hd_probe_context *ctx, uint64_t pid, const struct hd_proc_stat *own) {
    int proc_fd = ctx->proc_fd, mem_fd = ctx->mem_fd;
    bool found = false;
    for (unsigned depth = 0; depth < TERMINAL_DEPTH && pid != 0 && !found; depth++) {
        char path[32], text[1024];
        hd_proc_process_path(path, sizeof path, pid, "");
        ctx->proc_fd = hd_os.open_at(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        ctx->mem_fd = hd_os_open(ctx->proc_fd, "mem");
        struct hd_proc_stat p = hd_proc_stat_read(ctx->proc_fd, "stat");
        found = has_terminal(own, &p) && waits_for_terminal(ctx, (int)pid);
        newest_children(ctx, (int)pid, text, sizeof text);
        pid = 0;
        for (const char *at = text; *at >= '0' && *at <= '9'; at += *at == ' ') {
            at = hd_text_take_number(at, &pid);
        }
        hd_os_close(ctx->mem_fd);
        hd_os_close(ctx->proc_fd);
    }
    ctx->proc_fd = proc_fd;
    ctx->mem_fd = mem_fd;
    return found;
}

/* True: the standard output of process `pid` is the pipe with inode `pipe`. If `input` is true, tests the
 * standard input instead, because the watched thread writes into the pipe. The text of the link replaces
 * `path` and ends without a NUL. The text needs no NUL, because in a pipe's link a bracket ends the
 * number. */
static bool has_pipe(const struct hd_probe_context *ctx, uint64_t pid, uint64_t pipe, bool input) {
    char path[48];
    uint64_t number;
    hd_proc_process_path(path, sizeof path, pid, input ? "fd/0" : "fd/1");
    hd_os.readlink_at(ctx->proc_fd, path, path, sizeof path);
    if (path[0] != PIPE_LINK[0]) {
        return false;
    }
    hd_text_take_number(path + strlen(PIPE_LINK), &number);
    return number == pipe;
}

void hd_child_find(struct hd_probe_context *ctx, int tid, uint64_t since_ns, struct hd_probe *out) {
    char text[1024];
    newest_children(ctx, tid, text, sizeof text);
    if (text[0] == '\0') {
        return;
    }
    uint64_t boot_ns = 0;
    hd_os.boot_clock(&boot_ns);
    uint64_t now_ns = hd_os_now_ns(), ago_ns = now_ns - since_ns + CHILD_SLACK_NS;
    struct hd_proc_stat own = hd_proc_stat_read(ctx->proc_fd, "stat");
    bool awaits = out->child.vforked || hd_syscall_wait(out->syscall_nr) == HD_WAIT_CHILD;
    bool at_pipe = hd_evidence_fd_kind(out) == HD_FD_PIPE, found = false;
    for (const char *p = text; *p >= '0' && *p <= '9';) {
        uint64_t pid;
        p = hd_text_take_number(p, &pid);
        for (; *p == ' ' || *p == '\n'; p++) {
        }
        struct hd_proc_stat child = process_of(ctx, pid);
        bool young = (child.alive || at_pipe) && child.started_boot_ns + ago_ns >= boot_ns;
        bool has =
            at_pipe && has_pipe(ctx, pid, out->evidence.descriptor.inode, out->syscall_nr == SYS_write);
        found |= has;
        if (has || (young && !found)) {
            out->child.alive = true;
            out->child.pid = (int32_t)pid;
        }
        out->not_a_hang |= has_terminal(&own, &child) &&
                           (child.group != own.group || (young && awaits && uses_terminal(ctx, pid, &own)));
    }
}
