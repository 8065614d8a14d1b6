/* SPDX-License-Identifier: MIT */
#include "cli/outside/recognise_wait.h"

#include <poll.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "cli/outside/recognise_listens.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_text.h"
#include "os/syscall_table.h"

#define RING_REGISTERED \
    16u /* IORING_ENTER_REGISTERED_RING: the descriptor is an index of the ring's own table */

/* Which of a call's arguments have the descriptors. */
enum arguments {
    NONE,
    EPOLL,
    POLL,
    SELECT,
    RING,
    ACCEPT
};

static enum arguments arguments_of(int32_t nr) {
    static const struct {
        char name[16];
        enum arguments arguments;
    } calls[] = {{"epoll_wait", EPOLL}, {"epoll_pwait", EPOLL},   {"epoll_pwait2", EPOLL},
                 {"poll", POLL},        {"ppoll", POLL},          {"select", SELECT},
                 {"pselect6", SELECT},  {"io_uring_enter", RING}, {"accept", ACCEPT},
                 {"accept4", ACCEPT}};
    const char *name = hd_syscall_name(nr);
    for (size_t i = 0; name != NULL && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return calls[i].arguments;
        }
    }
    return NONE;
}

bool outside_wait_is_known(int32_t nr) {
    return arguments_of(nr) != NONE;
}

bool outside_wait_is_epoll(int32_t nr) {
    return arguments_of(nr) == EPOLL;
}

/* The copy of the stack is of the wait; the memory may have changed since. */
static bool read_memory(const struct outside_wait *w, uint64_t address, void *to, size_t bytes) {
    uint64_t at = address - w->stack_addr;
    if (w->stack != NULL && address >= w->stack_addr && at < w->stack_bytes && bytes <= w->stack_bytes - at) {
        memcpy(to, w->stack + at, bytes);
        return true;
    }
    return address <= INT64_MAX && pread(w->process->mem_fd, to, bytes, (off_t)address) == (ssize_t)bytes;
}

static bool read_poll(const struct outside_wait *w, struct hd_wait_descriptors *d) {
    struct pollfd set[HD_WAIT_FDS];
    uint64_t n = w->args[1] < HD_WAIT_FDS ? w->args[1] : HD_WAIT_FDS;
    if (n > 0 && !read_memory(w, w->args[0], set, n * sizeof set[0])) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (set[i].fd >= 0) {
            d->fd[d->fds++] = set[i].fd;
        }
    }
    return true;
}

static bool read_select(const struct outside_wait *w, struct hd_wait_descriptors *d) {
    uint64_t words[3][FD_SETSIZE / 64] = {{0}};
    int32_t limit = (int32_t)w->args[0];
    uint32_t n = limit <= 0 ? 0 : limit < FD_SETSIZE ? (uint32_t)limit : FD_SETSIZE;
    for (unsigned s = 0; s < 3; s++) {
        uint64_t address = w->args[1 + s];
        if (address != 0 && n > 0 && !read_memory(w, address, words[s], (n + 63) / 64 * 8)) {
            return false;
        }
    }
    for (uint32_t fd = 0; fd < n && d->fds < HD_WAIT_FDS; fd++) {
        if (((words[0][fd / 64] | words[1][fd / 64] | words[2][fd / 64]) >> fd % 64 & 1) != 0) {
            d->fd[d->fds++] = (int32_t)fd;
        }
    }
    return true;
}

/* A ring of which the call has no descriptor is found among the open files. */
static int32_t ring_of(const struct outside_wait *w) {
    char path[48], link[32];
    for (int fd = 0; (w->args[3] & RING_REGISTERED) != 0 && fd < HD_FEW_OPEN; fd++) {
        hd_proc_task_fd_path(path, sizeof path, w->tid, "fd", fd);
        ssize_t n = readlinkat(w->process->proc_fd, path, link, sizeof link - 1);
        link[n > 0 ? n : 0] = '\0';
        if (strcmp(link, "anon_inode:[io_uring]") == 0) {
            return fd;
        }
    }
    return (int32_t)w->args[0];
}

bool outside_wait_descriptors(const struct outside_wait *w, uint64_t object, struct hd_wait_descriptors *d) {
    enum arguments arguments = arguments_of(w->nr);
    *d = (struct hd_wait_descriptors){.fds = 0};
    if (arguments == NONE) {
        return false;
    }
    if (arguments == POLL || arguments == SELECT) {
        bool is_read = arguments == POLL ? read_poll(w, d) : read_select(w, d);
        outside_listens(w->process, w->tid, d);
        return is_read;
    }
    d->fds = 1;
    d->fd[0] = arguments == RING ? ring_of(w) : (int32_t)w->args[0];
    d->accepts = arguments == ACCEPT;
    d->listens = d->accepts;
    if (arguments == EPOLL) {
        d->epoll = true;
        d->epoll_generation = (uint32_t)(object >> 6 ^ object >> 38); /* the kernel aligns its objects */
    }
    return true;
}

bool outside_wait_now(const struct live_process *p, pid_t tid, struct outside_wait *w) {
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_proc_syscall call;
    long n = hd_proc_read_task(p->proc_fd, tid, "syscall", text, sizeof text);
    if (n <= 0 || !hd_proc_parse_syscall(text, (size_t)n, &call) || call.where != HD_PROC_BLOCKED) {
        return false;
    }
    *w = (struct outside_wait){
        .process = p, .tid = tid, .nr = call.nr, .regs = {.pc = call.pc, .sp = call.sp}};
    memcpy(w->args, call.args, sizeof w->args);
    return true;
}
