/* SPDX-License-Identifier: MIT
 *
 * Worker: what stands behind a wait's descriptor numbers. No allocation.
 */
#include "objects.h"

#include <string.h>

#include "analysis/hash.h"
#include "analysis/text.h"
#include "interpose.h"
#include "monitor/proc_files.h"

#define PTS_MAJOR 136 /* UNIX98_PTY_SLAVE_MAJOR: of all /dev/pts/N since Linux 2.6 */

static const char by_any[] = "/dev/tty"; /* of whoever opens it */

/* The kernel's number of an eventfd, which its link does not show; 0: it does not say. */
static uint64_t eventfd_id(const struct hd_worker *k, int tid, int fd) {
    char path[48], text[512];
    hd_task_fd_path(path, sizeof path, tid, "fdinfo", fd);
    hd_read_text(k->proc_fd, path, text, sizeof text);
    const char *id = hd_find_line(text, "eventfd-id:");
    return id != NULL ? hd_hash(1, id, strnlen(id, 32)) : 0;
}

/* The process's terminal has two names: /dev/tty, and its own. Of that one the kernel tells the number. */
static long name_terminal(const struct hd_worker *k, char *link, size_t size) {
    uint64_t device = hd_own_terminal(k);
    struct hd_text t = {.buf = link, .size = size, .used = strlen(by_any)};
    if ((device >> 8 & 0xfff) == PTS_MAJOR) {
        t.used = 0;
        hd_text_str(&t, "/dev/pts/");
        hd_text_u64(&t, (device & 0xff) | (device >> 12 & 0xfff00));
    }
    return (long)t.used;
}

uint64_t hd_object_of(const struct hd_worker *k, int tid, int fd, bool *open) {
    char path[48], link[128];
    hd_task_fd_path(path, sizeof path, tid, "fd", fd);
    long n = hd_os.readlink_at(k->proc_fd, path, link, sizeof link);
    if (n <= 0) {
        *open = false;
        return hd_hash(2, &fd, sizeof fd);
    }
    if (n == (long)sizeof by_any - 1 && memcmp(link, by_any, sizeof by_any - 1) == 0) {
        n = name_terminal(k, link, sizeof link);
    }
    uint64_t hash = hd_hash(HD_HASH_BEGIN, link, (size_t)n);
    if (n > 5 && memcmp(link, "anon_", 5) == 0) {
        hash = hd_hash(hash, &fd, sizeof fd) ^ eventfd_id(k, tid, fd);
    }
    return hash;
}

bool hd_objects_set(const struct hd_worker *k, int tid, const struct hd_wait_objects *id,
                    struct hd_set *set) {
    bool open = true;
    set->count = 0;
    if (id->epoll) {
        uint64_t hash = hd_hash(3, &id->fd[0], sizeof id->fd[0]);
        hash = hd_hash(hash, &id->epoll_generation, sizeof id->epoll_generation);
        hd_set_add(set, hash | HD_OBJECT_EPOLL);
        return true;
    }
    for (uint32_t i = 0; i < id->fds && i < HD_WAIT_FDS; i++) {
        uint64_t object = hd_object_of(k, tid, id->fd[i], &open);
        hd_set_add(set, object & ~HD_OBJECT_EPOLL);
    }
    return open;
}

bool hd_objects_epoll_open(const struct hd_worker *k, int tid, const struct hd_wait_objects *id) {
    static const char epoll[] = "anon_inode:[eventpoll]";
    char path[48], link[sizeof epoll];
    hd_task_fd_path(path, sizeof path, tid, "fd", id->fd[0]);
    return hd_os.readlink_at(k->proc_fd, path, link, sizeof link) == (long)sizeof epoll - 1 &&
           memcmp(link, epoll, sizeof epoll - 1) == 0 &&
           hd_epoll_generation(id->fd[0]) == id->epoll_generation;
}
