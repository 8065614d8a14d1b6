/* SPDX-License-Identifier: MIT */
#include "cause/linux/file_lock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "cause/linux/holder.h"
#include "os/linux/proc_files.h"
#include "os/os.h"

static const char *skip_word(const char *p) {
    for (; *p != ' ' && *p != '\0'; p++) {
    }
    for (; *p == ' '; p++) {
    }
    return p;
}

bool hd_file_lock_parse(const char *line, struct hd_file_lock *out) {
    uint64_t pid;
    const char *p = skip_word(line);
    *out = (struct hd_file_lock){.pid = -1};
    for (; hd_proc_starts_with(p, "->"); p = skip_word(p)) {
        out->waits = true;
    }
    out->kind = *p;
    p = skip_word(skip_word(p));
    out->write = *p == 'W';
    p = skip_word(p);
    if (*p != '-') {
        hd_text_take_number(p, &pid);
        out->pid = (int32_t)pid;
    }
    p = skip_word(p);
    const char *range = skip_word(p), *inode = memchr(p, ':', strnlen(p, 24));
    inode = inode != NULL ? memchr(inode + 1, ':', strnlen(inode + 1, 24)) : NULL;
    if (inode == NULL || range[0] == '\0') {
        return false;
    }
    hd_text_take_number(inode + 1, &out->inode);
    hd_text_take_number(range, &out->start);
    range = skip_word(range);
    hd_text_take_number(range, &out->end);
    out->end = *range == 'E' ? UINT64_MAX : out->end;
    return true;
}

/* fdinfo has the inode since Linux 5.14. */
uint64_t hd_file_lock_inode(const struct hd_probe_context *ctx, int tid, int fd) {
    char path[48], text[512];
    uint64_t inode = 0;
    struct stat st;
    hd_proc_task_fd_path(path, sizeof path, tid, "fdinfo", fd);
    (void)hd_proc_read(ctx->proc_fd, path, text, sizeof text);
    const char *line = hd_proc_find_line(text, "ino:");
    if (line != NULL) {
        hd_text_take_number(line, &inode);
        return inode;
    }
    hd_proc_task_fd_path(path, sizeof path, tid, "fd", fd);
    return hd_os.stat_at(ctx->proc_fd, path, &st, AT_STATX_DONT_SYNC) == 0 ? st.st_ino : 0;
}

#define SEARCH_CPU_NS_MAX (20 * HD_NS_PER_MS)

void hd_file_locks_open(const struct hd_probe_context *ctx, struct hd_file_locks *locks) {
    locks->fd = hd_os_open(ctx->proc_fd, "../locks");
    locks->until_cpu_ns = hd_os_thread_cpu_ns() + SEARCH_CPU_NS_MAX;
    hd_proc_lines_init(&locks->lines, locks->fd);
}

bool hd_file_locks_next(struct hd_file_locks *locks, struct hd_file_lock *out) {
    const char *line = NULL;
    do {
        line = locks->fd >= 0 && hd_os_thread_cpu_ns() < locks->until_cpu_ns
                   ? hd_proc_lines_next(&locks->lines)
                   : NULL;
    } while (line != NULL && !hd_file_lock_parse(line, out));
    return line != NULL;
}

void hd_file_locks_close(struct hd_file_locks *locks) {
    hd_os_close(locks->fd);
}

/* The pid of a flock may be that of a process that has ended, and left its descriptor to a child. */
static bool lives(const struct hd_probe_context *ctx, int32_t pid) {
    char path[32], text[8];
    hd_proc_process_path(path, sizeof path, (uint64_t)pid, "comm");
    return pid > 0 && hd_proc_read(ctx->proc_fd, path, text, sizeof text) > 0;
}

/* Returns the process with the lock that the process waits for: -1 or 0 if it has no number here. The line of
 * the lock comes before the lines of those that wait for it. `pid`: of the process that waits; -1: for the
 * lock of an open file description. False: the process waits for none. */
static bool find_holder(const struct hd_probe_context *ctx, char kind, int32_t pid, uint64_t inode,
                        int32_t *holder) {
    struct hd_file_locks locks;
    struct hd_file_lock lock;
    bool found = false;
    *holder = 0;
    hd_file_locks_open(ctx, &locks);
    while (!found && hd_file_locks_next(&locks, &lock)) {
        found = lock.waits && lock.pid == pid && lock.inode == inode && lock.kind == kind;
        *holder = lock.waits ? *holder : lock.pid;
    }
    hd_file_locks_close(&locks);
    return found;
}

void hd_file_lock_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                       struct hd_probe *out) {
    int32_t holder;
    int fd = (int)c->syscall_args[0];
    bool of_description = c->syscall_nr == SYS_fcntl && (int)c->syscall_args[1] == F_OFD_SETLKW;
    char kind = c->syscall_nr == SYS_flock ? 'F' : of_description ? 'O' : 'P';
    if (!find_holder(ctx, kind, of_description ? -1 : ctx->pid, hd_file_lock_inode(ctx, tid, fd), &holder)) {
        return;
    }
    if (!lives(ctx, holder)) {
        char path[48], link[512];
        hd_proc_task_fd_path(path, sizeof path, tid, "fd", fd);
        long n = hd_os.readlink_at(ctx->proc_fd, path, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        holder = hd_holder_find(ctx, HD_HOLDER_LOCKS_FILE, link);
    }
    hd_holder_set(ctx, HD_PARTY_HOLDER, holder, out);
}
