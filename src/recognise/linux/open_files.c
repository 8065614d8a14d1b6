/* SPDX-License-Identifier: MIT */
#include "recognise/open_files.h"

#include <string.h>

#include <sys/stat.h>

#include "base/hash.h"
#include "base/text.h"
#include "cause/linux/peer.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"

/* the major device number of each /dev/pts/N; the kernel calls it UNIX98_PTY_SLAVE_MAJOR */
#define PTS_MAJOR 136

static const char of_eventfd[] = "anon_inode:[eventfd]";
/* This path means the controlling terminal of the process that opens it. */
static const char own_terminal[] = "/dev/tty";

/* Stores in `link` the path to which the link of the descriptor `fd` in /proc points. False: no file is open
 * with this number. */
static bool link_of(int proc_fd, int tid, int fd, char *link, size_t size) {
    char path[48];
    hd_proc_task_fd_path(path, sizeof path, tid, "fd", fd);
    long n = hd_os.readlink_at(proc_fd, path, link, size - 1);
    link[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Returns a hash of the kernel's id of an eventfd. All eventfds have the same link in /proc, so the link does
 * not identify one. 0: the kernel does not show the id. */
static uint64_t eventfd_id(int proc_fd, int tid, int fd) {
    char path[48], text[512];
    hd_proc_task_fd_path(path, sizeof path, tid, "fdinfo", fd);
    hd_proc_read(proc_fd, path, text, sizeof text);
    const char *id = hd_proc_find_line(text, "eventfd-id:");
    return id != NULL ? hd_hash(1, id, strnlen(id, 32)) : 0;
}

/* The controlling terminal has two names, /dev/tty and /dev/pts/N, which must give one identity. Replaces
 * /dev/tty in `link` by /dev/pts/N, from the device number that the kernel shows for the process's terminal.
 * A terminal that is not a /dev/pts/N stays /dev/tty. Returns the length of the name in `link`. */
static size_t name_terminal(int proc_fd, char *link, size_t size) {
    uint64_t device = hd_own_terminal(proc_fd);
    struct hd_text t = {.buf = link, .size = size, .used = strlen(own_terminal)};
    if ((device >> 8 & 0xfff) == PTS_MAJOR) {
        t.used = 0;
        hd_text_str(&t, "/dev/pts/");
        hd_text_u64(&t, (device & 0xff) | (device >> 12 & 0xfff00));
    }
    return t.used;
}

uint64_t hd_open_files_identity(int proc_fd, hd_thread_id thread, int fd, bool *open) {
    char link[128];
    int tid = hd_thread_id_tid(thread);
    if (!link_of(proc_fd, tid, fd, link, sizeof link)) {
        *open = false;
        return hd_hash(2, &fd, sizeof fd);
    }
    size_t n = strlen(link);
    if (strcmp(link, own_terminal) == 0) {
        n = name_terminal(proc_fd, link, sizeof link);
    }
    uint64_t hash = hd_hash(HD_HASH_BEGIN, link, n);
    if (hd_proc_starts_with(link, "anon_")) {
        bool event = strcmp(link, of_eventfd) == 0;
        hash = hd_hash(hash, &fd, sizeof fd) ^ (event ? eventfd_id(proc_fd, tid, fd) : 0);
    }
    return hash;
}

bool hd_open_files_set(int proc_fd, hd_thread_id thread, const struct hd_wait_descriptors *d,
                       struct hd_set *set) {
    bool open = true;
    set->count = 0;
    if (d->epoll) {
        uint64_t hash = hd_hash(3, &d->fd[0], sizeof d->fd[0]);
        hash = hd_hash(hash, &d->epoll_generation, sizeof d->epoll_generation);
        hd_set_add(set, hash | HD_FILE_EPOLL);
        return true;
    }
    for (uint32_t i = 0; i < d->fds && i < HD_WAIT_FDS; i++) {
        uint64_t file = hd_open_files_identity(proc_fd, thread, d->fd[i], &open);
        hd_set_add(set, file & ~HD_FILE_EPOLL);
    }
    return open;
}

/* ---- kinds ------------------------------------------------------------------------------------- */

/* The code looks for the other end of a pipe or socket among the descriptor numbers below this one. */
#define ENDS_MAX 256

static bool is_open_as(int proc_fd, int tid, int but, const char *link) {
    char other[64];
    for (int fd = 0; fd < ENDS_MAX; fd++) {
        if (fd != but && link_of(proc_fd, tid, fd, other, sizeof other) && strcmp(link, other) == 0) {
            return true;
        }
    }
    return false;
}

static uint64_t inode_of(const char *link) {
    uint64_t inode = 0;
    hd_text_take_number(link + strlen("socket:["), &inode);
    return inode;
}

static bool is_of_a_pair(int proc_fd, int tid, int fd, const char *link) {
    char peer[32];
    struct hd_text t;
    uint32_t other = hd_peer_inode_of_unix(inode_of(link));
    hd_text_init(&t, peer, sizeof peer);
    hd_text_str(&t, "socket:[");
    hd_text_u64(&t, other);
    hd_text_str(&t, "]");
    return other != 0 && is_open_as(proc_fd, tid, fd, peer);
}

static enum hd_kind kind_of(int proc_fd, int tid, int fd) {
    static const char of_loops[][24] = {"anon_inode:[timerfd]", "anon_inode:[signalfd]", "anon_inode:inotify",
                                        "anon_inode:[io_uring]"};
    char link[64];
    /* If `fd` means /dev/null now, the wait was not for this file: no program waits for /dev/null. So the
     * wait's file is closed, and another file has its number. */
    if (!link_of(proc_fd, tid, fd, link, sizeof link) || strcmp(link, "/dev/null") == 0) {
        return HD_KIND_CLOSED;
    }
    for (unsigned i = 0; i < sizeof of_loops / sizeof of_loops[0]; i++) {
        if (strcmp(link, of_loops[i]) == 0) {
            return HD_KIND_LOOPS;
        }
    }
    if (strcmp(link, of_eventfd) == 0) {
        return HD_KIND_EVENTFD;
    }
    if (hd_proc_starts_with(link, "pipe:[")) {
        return is_open_as(proc_fd, tid, fd, link) ? HD_KIND_OWN_PIPE : HD_KIND_PIPE;
    }
    if (hd_proc_starts_with(link, "socket:[")) {
        return is_of_a_pair(proc_fd, tid, fd, link) ? HD_KIND_OWN_SOCKET : HD_KIND_SOCKET;
    }
    return HD_KIND_OTHER;
}

/* Stores the descriptor numbers of an epoll instance's members in `fd`, and returns the number of members.
 * HD_WAIT_FDS: there are too many members, or the kernel does not show them. */
static uint32_t members_of(int proc_fd, int tid, int epoll, int32_t fd[HD_WAIT_FDS]) {
    char text[2048];
    uint32_t n = 0;
    if (hd_proc_read_epoll(proc_fd, tid, epoll, text, sizeof text) < 0) {
        return HD_WAIT_FDS;
    }
    for (const char *at = strstr(text, "tfd:"); at != NULL && n < HD_WAIT_FDS; at = strstr(at, "tfd:")) {
        uint64_t number;
        for (at += strlen("tfd:"); *at == ' ' || *at == '\t'; at++) {
        }
        at = hd_text_take_number(at, &number);
        fd[n++] = (int32_t)number;
    }
    return n;
}

static bool is_connected(int proc_fd, int tid, int fd) {
    char link[64], peer[64];
    if (!link_of(proc_fd, tid, fd, link, sizeof link)) {
        return false;
    }
    uint64_t inode = inode_of(link);
    return hd_peer_inode_of_unix(inode) != 0 || hd_peer_of_inet(proc_fd, tid, inode, peer, sizeof peer);
}

static void epoll_kinds(int proc_fd, int tid, int epoll, struct hd_kinds *kinds) {
    int32_t fd[HD_WAIT_FDS];
    uint32_t n = members_of(proc_fd, tid, epoll, fd);
    kinds->known = n < HD_WAIT_FDS;
    kinds->count = kinds->known ? n : 0;
    for (uint32_t i = 0; i < kinds->count; i++) {
        kinds->kind[i] = (uint8_t)kind_of(proc_fd, tid, fd[i]);
    }
    if (kinds->count == 1 && kinds->kind[0] == HD_KIND_SOCKET && is_connected(proc_fd, tid, fd[0])) {
        kinds->kind[0] = HD_KIND_CONNECTED;
    }
}

void hd_open_files_kinds(int proc_fd, hd_thread_id thread, const struct hd_wait_descriptors *d,
                         struct hd_kinds *kinds) {
    int tid = hd_thread_id_tid(thread);
    *kinds = (struct hd_kinds){.epoll = d->epoll,
                               .library = d->epoll && hd_wait_is_library(d->fd[0]),
                               .accepts = d->accepts,
                               .accepted = d->accepted};
    if (kinds->library) {
        return;
    }
    if (d->epoll) {
        epoll_kinds(proc_fd, tid, d->fd[0], kinds);
        return;
    }
    uint32_t closed = 0;
    kinds->count = d->fds < HD_WAIT_FDS ? d->fds : HD_WAIT_FDS;
    for (uint32_t i = 0; i < kinds->count; i++) {
        bool listens = (d->listens >> i & 1) != 0;
        kinds->kind[i] = listens ? HD_KIND_LOOPS : (uint8_t)kind_of(proc_fd, tid, d->fd[i]);
        closed += kinds->kind[i] == HD_KIND_CLOSED;
    }
    /* If all descriptors seem closed, the reason may be that /proc belongs to another PID namespace. So in
     * this case the kinds are known only if /proc shows how many descriptors the process has open. */
    kinds->known = closed == 0 || closed < kinds->count || hd_proc_open_count(proc_fd, tid) >= 0;
}

bool hd_open_files_is_epoll(int proc_fd, hd_thread_id thread, int fd) {
    char link[64];
    return link_of(proc_fd, hd_thread_id_tid(thread), fd, link, sizeof link) &&
           strcmp(link, "anon_inode:[eventpoll]") == 0;
}
