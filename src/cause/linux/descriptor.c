/* SPDX-License-Identifier: MIT */
#include "cause/linux/descriptor.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "cause/linux/peer.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "os/syscall_table.h"

/* Returns the kind of a socket by the protocol's name. That name is an extended attribute, which the kernel
 * gives only for an absolute path. If the path does not resolve (another root folder, no /proc), the kernel's
 * sock_diag interface still shows whether the socket is local. In that case, a socket that is not local
 * counts as a network socket. */
static enum hd_fd_kind socket_kind(int proc_fd, const char *path_in_proc, uint64_t inode) {
    /* prefixes of protocol names, so that TCPv6, UDP-Lite and AF_VSOCK fit too */
    static const char of_network[][5] = {"TCP", "UDP", "RAW", "MPTC", "SCTP", "PING", "AF_V"};
    char path[96], name[16] = {0};
    struct hd_text t;
    hd_text_init(&t, path, sizeof path);
    hd_text_str(&t,
                /* /proc/self would be wrong, because it leads to the main thread's descriptor table, not to
                 * this thread's */
                "/proc/thread-self/fd/");
    hd_text_i64(&t, proc_fd);
    hd_text_str(&t, "/");
    hd_text_str(&t, path_in_proc);
    long n = hd_os.get_xattr(path, "system.sockprotoname", name, sizeof name - 1);
    if (n <= 0) {
        return hd_peer_of_unix(inode, NULL, 0) ? HD_FD_UNIX : HD_FD_INET;
    }
    for (unsigned i = 0; i < sizeof of_network / sizeof of_network[0]; i++) {
        if (hd_proc_starts_with(name, of_network[i])) {
            return HD_FD_INET;
        }
    }
    return hd_proc_starts_with(name, "UNIX") ? HD_FD_UNIX : HD_FD_OTHER;
}

/* A serial port, such as /dev/ttyUSB0 or ttyS0, does not count as a terminal. */
static bool is_terminal(const char *link) {
    uint64_t number;
    return hd_proc_starts_with(link, "/dev/pts/") || strcmp(link, "/dev/console") == 0 ||
           (hd_proc_starts_with(link, "/dev/tty") &&
            *hd_text_take_number(link + strlen("/dev/tty"), &number) == '\0');
}

enum hd_fd_kind hd_descriptor_device_kind(const char *path) {
    if (!hd_proc_starts_with(path, "/dev/")) {
        return HD_FD_NONE;
    }
    return is_terminal(path) ? HD_FD_TTY : HD_FD_OTHER;
}

/* In /proc, the link of a descriptor of shared memory looks like a path, but names no file. */
static bool is_memory(const char *link) {
    return hd_proc_starts_with(link, "/memfd:") || hd_proc_starts_with(link, "/dmabuf:") ||
           hd_proc_starts_with(link, "/SYSV");
}

static bool is_named_pipe(int proc_fd, const char *path_in_proc) {
    uint32_t type;
    return hd_os.file_type_at(proc_fd, path_in_proc, &type) == 0 && type == S_IFIFO;
}

enum hd_fd_kind hd_descriptor_kind(int proc_fd, int tid, int fd, struct hd_evidence *out) {
    /* `link` has space for any path, because a cut path would lose its base name, which is at the end */
    char path[48], link[PATH_MAX];
    hd_proc_task_fd_path(path, sizeof path, tid, "fd", fd);
    long n = hd_os.readlink_at(proc_fd, path, link, sizeof link - 1);
    if (n <= 0) {
        return HD_FD_NONE;
    }
    link[n] = '\0';
    if (hd_proc_starts_with(link, "socket:[")) {
        hd_text_take_number(link + strlen("socket:["), &out->descriptor.inode);
        return socket_kind(proc_fd, path, out->descriptor.inode);
    }
    if (hd_proc_starts_with(link, PIPE_LINK)) {
        hd_text_take_number(link + strlen(PIPE_LINK), &out->descriptor.inode);
        return HD_FD_PIPE;
    }
    if (hd_proc_starts_with(link, "anon_inode:")) {
        return strcmp(link, "anon_inode:[eventpoll]") == 0 ? HD_FD_EPOLL
               : strcmp(link, "anon_inode:[pidfd]") == 0   ? HD_FD_PROCESS
                                                           : HD_FD_EVENT;
    }
    enum hd_fd_kind device = hd_descriptor_device_kind(link);
    if (device != HD_FD_NONE) {
        return device;
    }
    if (link[0] != '/' || is_memory(link)) {
        return HD_FD_OTHER;
    }
    if (is_named_pipe(proc_fd, path)) {
        return HD_FD_PIPE;
    }
    hd_text_base_name(out->name, sizeof out->name, link);
    return HD_FD_FILE;
}

void hd_descriptor_find(int proc_fd, int tid, int fd, struct hd_evidence *out) {
    out->kind = HD_EVIDENCE_DESCRIPTOR;
    out->descriptor.number = fd;
    out->descriptor.kind = (uint8_t)hd_descriptor_kind(proc_fd, tid, fd, out);
}

/* Array `names` has parts of the names of the kernel functions in which a thread sleeps, from Linux 5.10 to
 * 6.18. Pipes (fs/pipe.c, fs/splice.c): pipe_read, anon_pipe_write (since 6.15), pipe_wait_readable,
 * pipe_release, wait_for_partner, ipipe_prep. FUSE (fs/fuse/dev.c): request_wait_answer, or a function fuse_…
 * into which the compiler has inlined request_wait_answer. Sockets (net/core/sock.c): sock_alloc_send_pskb,
 * and wait_woken, in which all TCP calls block (sk_wait_event in net/sock.h). */
enum hd_fd_kind hd_descriptor_wchan_kind(int proc_fd, int tid) {
    static const struct {
        char part[12];
        uint8_t kind;
    } names[] = {{"pipe_", HD_FD_PIPE}, {"for_partner", HD_FD_PIPE}, {"wait_answer", HD_FD_FILE},
                 {"fuse_", HD_FD_FILE}, {"wait_woken", HD_FD_INET},  {"sock_", HD_FD_INET}};
    char channel[48];
    hd_proc_read_task(proc_fd, tid, "wchan", channel, sizeof channel);
    for (const char *at = channel; *at != '\0'; at++) {
        for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (hd_proc_starts_with(at, names[i].part)) {
                return (enum hd_fd_kind)names[i].kind;
            }
        }
    }
    return HD_FD_NONE;
}

/* A call such as sendfile copies between a file and another descriptor. The wait channel may show which of
 * the two the thread is blocked on. If the channel does not show this, the thread's state decides. A thread
 * that no signal can wake is blocked on the file, any other thread on the other descriptor.
 *
 * If the thread waits for a file, the process at the other end of a socket is not the cause. So the function
 * sets the inode to 0, and the caller finds no such process.
 *
 * A call that closes a descriptor frees the descriptor's number before the call blocks. So only the wait
 * channel shows the kind of that descriptor.
 *
 * No signal can wake a thread that waits for a pipe's lock. But the lock's owner waits for the other end of
 * the pipe, and a signal can wake the owner. So the function sets the state HD_RUN_BLOCKED, as if a signal
 * could wake the sampled thread too. */
void hd_descriptor_of_call(int proc_fd, int tid, const struct hd_capture *c, struct hd_probe *out) {
    struct hd_evidence *seen = &out->evidence;
    struct hd_descriptor_seen *d = &seen->descriptor;
    bool for_file = c->state == HD_RUN_UNINTERRUPTIBLE;
    bool closes = hd_syscall_object(c->syscall_nr) == HD_OBJECT_NONE;
    unsigned other = c->syscall_nr == SYS_sendfile ? 1 : c->syscall_nr == SYS_splice ? 2 : 0;
    enum hd_fd_kind channel =
        for_file || closes || other != 0 ? hd_descriptor_wchan_kind(proc_fd, tid) : HD_FD_NONE;
    seen->kind = HD_EVIDENCE_DESCRIPTOR;
    if (closes) {
        d->kind = (uint8_t)channel;
        return;
    }
    for_file = for_file && channel != HD_FD_PIPE;
    for_file |= other != 0 && channel == HD_FD_FILE;
    hd_descriptor_find(proc_fd, tid, (int)c->syscall_args[0], seen);
    bool at_other = c->syscall_nr == SYS_splice && channel != HD_FD_NONE
                        ? (d->kind == HD_FD_PIPE) != (channel == HD_FD_PIPE)
                        : (d->kind == HD_FD_FILE) != for_file;
    if (other != 0 && at_other) {
        seen->name[0] = '\0';
        d->inode = 0;
        hd_descriptor_find(proc_fd, tid, (int)c->syscall_args[other], seen);
    }
    d->inode = for_file ? 0 : d->inode;
    if (d->kind == HD_FD_PIPE && channel == HD_FD_PIPE) {
        out->state = HD_RUN_BLOCKED;
    }
}
