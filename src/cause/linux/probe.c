/* SPDX-License-Identifier: MIT
 *
 * Worker: what a blocked call waits for, from /proc of this process: the descriptor's kind, a child, a
 * mutex's owner. No allocation. Everything here may be gone the next moment: an unanswered question is no
 * evidence, never an error.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/text.h"
#include "cause/linux/descriptor.h"
#include "cause/linux/peer.h"
#include "cause/linux/reply_thread.h"
#include "os/linux/proc_files.h"
#include "os/syscall_table.h"
#include "worker/worker.h"

#define DESCRIPTORS_MAX 16
#define LENT_DEPTH 4 /* processes between us and the one that a person talks to, and it */
#define CHILD_SLACK_NS (30 * HD_NS_PER_MS) /* start times in /proc count in hundredths of a second */

/* ---- sets of descriptors -------------------------------------------------------------------- */

/* Members of an epoll instance, from its fdinfo: lines "tfd:        8 events: ...". Of this and of the other
 * sets the first ones; -1: none is known, and there may be some. */
static int epoll_members(const struct hd_worker *k, int tid, int epfd, int *fds) {
    char path[48], text[2048];
    if (!hd_may_read_epoll(k->proc_fd, tid)) {
        return -1;
    }
    hd_task_fd_path(path, sizeof path, tid, "fdinfo", epfd);
    int count = hd_read_text(k->proc_fd, path, text, sizeof text) > 0 ? 0 : -1;
    for (const char *p = text; count < DESCRIPTORS_MAX && (p = hd_find_line(p, "tfd:")) != NULL;) {
        uint64_t fd;
        p = hd_take_number(p, &fd);
        fds[count++] = (int)fd;
    }
    return count;
}

static int poll_members(const struct hd_worker *k, const struct hd_capture *c, int *fds) {
    struct pollfd set[DESCRIPTORS_MAX];
    uint64_t n = c->syscall_args[1] < DESCRIPTORS_MAX ? c->syscall_args[1] : DESCRIPTORS_MAX;
    if (n != 0 &&
        hd_os.pread(k->mem_fd, set, n * sizeof set[0], c->syscall_args[0]) != (long)(n * sizeof set[0])) {
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

static int select_members(const struct hd_worker *k, const struct hd_capture *c, int *fds) {
    int count = 0;
    bool unread = false;
    for (unsigned set = 1; set <= 3; set++) {
        uint8_t bits[128] = {0};
        uint64_t n = (c->syscall_args[0] + 7) / 8;
        n = n < sizeof bits ? n : sizeof bits;
        if (c->syscall_args[set] == 0 || n == 0) {
            continue;
        }
        unread |= hd_os.pread(k->mem_fd, bits, n, c->syscall_args[set]) != (long)n;
        for (unsigned fd = 0; fd < n * 8 && count < DESCRIPTORS_MAX; fd++) {
            if ((bits[fd / 8] >> (fd % 8) & 1) != 0) {
                fds[count++] = (int)fd;
            }
        }
    }
    return count == 0 && unread ? -1 : count;
}

static int members(const struct hd_worker *k, int tid, const struct hd_capture *c, int *fds) {
    switch (c->syscall_nr) {
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
        return poll_members(k, c, fds);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
        return select_members(k, c, fds);
    default:
        return epoll_members(k, tid, (int)c->syscall_args[0], fds);
    }
}

/* What is asked of the `stat` of a process, or a thread. */
struct process {
    bool alive; /* not a zombie, of which the rest is known, too */
    uint64_t major_faults;
    uint64_t parent, group, terminal, terminal_group;
    uint64_t started_boot_ns; /* CLOCK_BOOTTIME, 10 ms steps */
};

static struct process process_at(const struct hd_worker *k, const char *path) {
    char text[512];
    struct process p = {0};
    if (hd_read_text(k->proc_fd, path, text, sizeof text) <= 0) {
        return p;
    }
    const char *at = text + strlen(text);
    for (; at > text && *at != ')'; at--) {
    }
    if (at == text || at[1] == '\0') {
        return p;
    }
    p.alive = at[2] != 'Z' && at[2] != 'X';
    at += 2; /* field 3 */
    for (unsigned field = 3; field <= 22 && *at != '\0'; field++) {
        uint64_t value;
        hd_take_number(at, &value); /* a terminal's group of -1 is 0 */
        p.parent = field == 4 ? value : p.parent;
        p.group = field == 5 ? value : p.group;
        p.terminal = field == 7 ? value : p.terminal;
        p.terminal_group = field == 8 ? value : p.terminal_group;
        p.major_faults = field == 12 ? value : p.major_faults;
        p.started_boot_ns = field == 22 ? value * (HD_NS_PER_S / 100) : p.started_boot_ns;
        for (; *at != ' ' && *at != '\0'; at++) {
        }
        at += *at == ' ';
    }
    return p;
}

uint64_t hd_own_terminal(const struct hd_worker *k) {
    return process_at(k, "stat").terminal;
}

/* "../PID/FILE", below /proc/self. */
static void other_path(char *path, size_t size, uint64_t pid, const char *file) {
    struct hd_text t;
    hd_text_init(&t, path, size);
    hd_text_str(&t, "../");
    hd_text_u64(&t, pid);
    hd_text_str(&t, "/");
    hd_text_str(&t, file);
}

static struct process process_of(const struct hd_worker *k, uint64_t pid) {
    char path[32];
    other_path(path, sizeof path, pid, "stat");
    return process_at(k, path);
}

/* The process that a descriptor is of; 0: it is gone, or not known. */
static int32_t process_of_pidfd(const struct hd_worker *k, int tid, int fd) {
    char path[48], text[256];
    uint64_t pid = 0;
    hd_task_fd_path(path, sizeof path, tid, "fdinfo", fd);
    hd_read_text(k->proc_fd, path, text, sizeof text);
    const char *said = hd_find_line(text, "Pid:");
    if (said != NULL) {
        hd_take_number(said, &pid);
    }
    return (int32_t)pid;
}

/* One word for a set of descriptors: a peer over the network before a local one, that before a child, which
 * is told too, and that before a pipe; no child where an event is waited for beside it. */
static void kind_of_set(const struct hd_worker *k, int tid, const struct hd_capture *c,
                        struct hd_evidence *out) {
    static const uint8_t rank[] = {
        [HD_FD_INET] = 6, [HD_FD_UNIX] = 5,  [HD_FD_PROCESS] = 4, [HD_FD_PIPE] = 3,  [HD_FD_FILE] = 2,
        [HD_FD_TTY] = 2,  [HD_FD_OTHER] = 1, [HD_FD_EVENT] = 1,   [HD_FD_EPOLL] = 1, [HD_FD_NONE] = 0};
    int fds[DESCRIPTORS_MAX];
    int count = members(k, tid, c, fds);
    uint64_t socket = 0; /* or the process */
    bool events = false;
    out->has_fds = count != 0;
    for (int i = 0; i < count; i++) {
        enum hd_fd_kind kind = hd_fd_kind_of(k->proc_fd, tid, fds[i], out);
        events |= kind == HD_FD_EVENT;
        if (kind == HD_FD_PROCESS) {
            out->socket = (uint64_t)process_of_pidfd(k, tid, fds[i]);
            kind = process_of(k, out->socket).parent == (uint64_t)hd_os.get_pid() ? kind : HD_FD_OTHER;
        }
        if (rank[kind] > rank[out->fd_kind]) {
            out->fd_kind = (uint8_t)kind;
            socket = out->socket;
        } else if (kind == out->fd_kind && out->socket != socket) {
            socket = 0; /* several of them: no one peer is the cause */
        }
    }
    if (events && out->fd_kind == HD_FD_PROCESS) {
        out->fd_kind = HD_FD_EVENT;
        socket = 0;
    }
    out->child_pid = out->fd_kind == HD_FD_PROCESS ? (int32_t)socket : 0;
    out->socket = socket;
    out->path[0] = '\0'; /* nor is one file */
}

static void find_peer(const struct hd_worker *k, int tid, struct hd_evidence *out) {
    if (out->socket != 0 && out->fd_kind == HD_FD_INET) {
        hd_peer_of_inet(k->proc_fd, tid, out->socket, out->peer, sizeof out->peer);
    } else if (out->socket != 0 && out->fd_kind == HD_FD_UNIX) {
        hd_peer_of_unix(out->socket, out->peer, sizeof out->peer);
    }
}

/* ---- children ------------------------------------------------------------------------------- */

uint64_t hd_major_faults(const struct hd_worker *k, int tid) {
    char path[48];
    hd_task_path(path, sizeof path, tid, "stat");
    return process_at(k, path).major_faults;
}

/* The numbers of the thread's newest children, which are the last: some 80. */
static void newest_children(const struct hd_worker *k, int tid, char *text, size_t size) {
    char path[48];
    size_t have = 0;
    long n;
    hd_task_path(path, sizeof path, tid, "children");
    int fd = hd_os_open(k->proc_fd, path);
    while (fd >= 0 && (n = hd_os.read(fd, text + have, size - 1 - have)) > 0) {
        have += (size_t)n;
        size_t drop = have > size / 2 ? have - size / 2 : 0;
        for (; drop > 0 && drop < have && text[drop - 1] != ' '; drop++) { /* whole numbers stay */
        }
        have -= drop;
        memmove(text, text + drop, have);
    }
    text[have] = '\0';
    hd_os_close(fd);
}

/* The one that a wait names; `newest` when it waits for any. */
static int32_t awaited_child(const struct hd_worker *k, int tid, const struct hd_capture *c, int32_t newest) {
    int32_t first = (int32_t)c->syscall_args[0], second = (int32_t)c->syscall_args[1];
    if (c->syscall_nr == SYS_waitid) {
        return first == P_PID ? second : first == P_PIDFD ? process_of_pidfd(k, tid, second) : newest;
    }
    return c->syscall_nr == SYS_wait4 && first > 0 ? first : newest;
}

/* All other clones wait for nobody. */
static bool is_vfork(const struct hd_worker *k, const struct hd_capture *c) {
    uint64_t flags = c->syscall_args[0];
    if (c->syscall_nr == SYS_clone3 && hd_os.pread(k->mem_fd, &flags, sizeof flags, flags) != sizeof flags) {
        return false;
    }
    return (c->syscall_nr == SYS_clone || c->syscall_nr == SYS_clone3) && (flags & CLONE_VFORK) != 0;
}

static bool has_terminal(const struct process *own, const struct process *p) {
    return p->alive && own->terminal != 0 && p->terminal == own->terminal && p->group == own->terminal_group;
}

/* It reads the terminal, or waits for it among others. */
static bool waits_for_terminal(const struct hd_worker *k, int tid) {
    struct hd_capture c;
    struct hd_evidence none;
    int fds[DESCRIPTORS_MAX], count = 0;
    bool found = false;
    if (hd_asked_call(k->proc_fd, tid, &c)) {
        fds[0] = (int)c.syscall_args[0];
        count = hd_syscall_wait(c.syscall_nr) == HD_WAIT_ANY ? members(k, tid, &c, fds)
                                                             : c.syscall_nr == SYS_read;
    }
    for (int i = 0; i < count; i++) {
        found |= hd_fd_kind_of(k->proc_fd, tid, fds[i], &none) == HD_FD_TTY;
    }
    return found;
}

/* Process `pid` does, or the newest child of it, and so on: a shell runs what the person talks to. They are
 * asked as we ask ourselves, by their folders of /proc and their memory. */
static bool talks_to_person(struct hd_worker *k, uint64_t pid, const struct process *own) {
    int proc_fd = k->proc_fd, mem_fd = k->mem_fd;
    bool found = false;
    for (unsigned depth = 0; depth < LENT_DEPTH && pid != 0 && !found; depth++) {
        char path[32], text[1024];
        other_path(path, sizeof path, pid, "");
        k->proc_fd = hd_os.open_at(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        k->mem_fd = hd_os_open(k->proc_fd, "mem");
        struct process p = process_at(k, "stat");
        found = has_terminal(own, &p) && waits_for_terminal(k, (int)pid);
        newest_children(k, (int)pid, text, sizeof text);
        pid = 0;
        for (const char *at = text; *at >= '0' && *at <= '9'; at += *at == ' ') {
            at = hd_take_number(at, &pid);
        }
        hd_os_close(k->mem_fd);
        hd_os_close(k->proc_fd);
    }
    k->proc_fd = proc_fd;
    k->mem_fd = mem_fd;
    return found;
}

/* As its output; for who writes, as its input. The link takes the place of its path: those of files begin
 * with a slash, and a pipe's ends with a bracket. */
static bool has_pipe(const struct hd_worker *k, uint64_t pid, uint64_t pipe, bool input) {
    char path[48];
    uint64_t number;
    other_path(path, sizeof path, pid, input ? "fd/0" : "fd/1");
    hd_os.readlink_at(k->proc_fd, path, path, sizeof path);
    if (path[0] != PIPE_LINK[0]) {
        return false;
    }
    hd_take_number(path + strlen(PIPE_LINK), &number);
    return number == pipe;
}

/* A child of thread tid that was started since `since_ns` (CLOCK_MONOTONIC) and lives; to that one the
 * process may have lent its terminal, if it waits for a child. And one, of whatever age, to which it has
 * given it, as a shell does. Who waits at a pipe waits for the child that has its other end, whatever its
 * age, and else for one that has ended and left that to a child of its own: `daemon &` in Perl's backticks.
 */
void hd_evidence_child(struct hd_worker *k, int tid, uint64_t since_ns, struct hd_evidence *out) {
    char text[1024];
    newest_children(k, tid, text, sizeof text);
    if (text[0] == '\0') {
        return;
    }
    uint64_t boot_ns = 0;
    hd_os.boot_clock(&boot_ns);
    uint64_t now_ns = hd_os_now_ns(), ago_ns = now_ns - since_ns + CHILD_SLACK_NS;
    struct process own = process_at(k, "stat");
    bool awaits = out->vforked || hd_syscall_wait(out->syscall_nr) == HD_WAIT_CHILD;
    bool at_pipe = out->fd_kind == HD_FD_PIPE, found = false;
    for (const char *p = text; *p >= '0' && *p <= '9';) {
        uint64_t pid;
        p = hd_take_number(p, &pid);
        for (; *p == ' ' || *p == '\n'; p++) {
        }
        struct process child = process_of(k, pid);
        bool young = (child.alive || at_pipe) && child.started_boot_ns + ago_ns >= boot_ns;
        bool has = at_pipe && has_pipe(k, pid, out->socket, out->syscall_nr == SYS_write);
        found |= has;
        if (has || (young && !found)) {
            out->child_alive = true;
            out->child_pid = (int32_t)pid;
            out->child_ns = has ? UINT64_MAX : now_ns - (boot_ns - child.started_boot_ns) + CHILD_SLACK_NS;
        }
        out->excused |= has_terminal(&own, &child) &&
                        (child.group != own.group || (young && awaits && talks_to_person(k, pid, &own)));
    }
}

/* ---- locks ---------------------------------------------------------------------------------- */

static bool thread_lives(const struct hd_worker *k, uint32_t tid) {
    char text[64];
    return hd_read_task(k->proc_fd, (int)tid, "comm", text, sizeof text) > 0;
}

/* Innermost: the lock itself, or its slow path called by it. */
static bool in_mutex_lock(const struct hd_worker *k, const struct hd_frame *frames, uint32_t count) {
    for (uint32_t i = 0; i < count && i < 2; i++) {
        for (unsigned n = 0; n < sizeof k->mutex_lock / sizeof k->mutex_lock[0]; n++) {
            if (k->mutex_lock[n] != 0 && frames[i].start == k->mutex_lock[n]) {
                return true;
            }
        }
    }
    return false;
}

int hd_mutex_owner_now(const struct hd_worker *k, const struct hd_capture *c, bool is_one) {
    enum {
        FUTEX_CONTENDED = 2,
        OWNER_WORD = 2
    }; /* glibc's lll_lock and pthread_mutex_t (nptl/lowlevellock.h) */
    if (!c->futex_read || c->futex_words[0] != FUTEX_CONTENDED) {
        return 0;
    }
    uint32_t owner = c->futex_words[OWNER_WORD];
    return owner != 0 && (is_one || thread_lives(k, owner)) ? (int)owner : 0;
}

int hd_mutex_owner(const struct hd_worker *k, const struct hd_capture *c, const struct hd_frame *frames,
                   uint32_t count) {
    return in_mutex_lock(k, frames, count) ? hd_mutex_owner_now(k, c, false) : 0;
}

/* ---- replies that another thread waits for -------------------------------------------------- */

static void find_asked(struct hd_worker *k, const struct hd_frame *frames, uint32_t count,
                       struct hd_evidence *out) {
    struct hd_capture call;
    struct hd_evidence there = {0};
    const char *thread = hd_asked_by(&k->asked, &k->modules, frames, count, out);
    int tid = thread != NULL ? hd_asked_thread(k->proc_fd, thread, &call) : 0;
    if (tid != 0 && hd_syscall_wait(call.syscall_nr) == HD_WAIT_ANY) {
        kind_of_set(k, tid, &call, &there);
        find_peer(k, tid, &there);
        memcpy(out->peer, there.peer, sizeof out->peer);
    }
}

/* ---- all locks ------------------------------------------------------------------------------ */

/* Of a file's lock the file is told; whose it is, another process most likely, is not. */
static void find_lock(struct hd_worker *k, int tid, const struct hd_capture *c, const struct hd_frame *frames,
                      uint32_t count, struct hd_evidence *out) {
    if (c->syscall_nr == SYS_futex) {
        out->lock_address = c->syscall_args[0];
        out->mutex = in_mutex_lock(k, frames, count);
        out->lock_owner_tid = out->mutex ? hd_mutex_owner_now(k, c, false) : 0;
        out->owned = out->lock_owner_tid != 0;
        out->joined_tid = hd_joined_tid(k, c);
        find_asked(k, frames, count, out);
    } else if (c->syscall_nr == SYS_flock || c->syscall_nr == SYS_fcntl) {
        out->fd_kind = (uint8_t)hd_fd_kind_of(k->proc_fd, tid, (int)c->syscall_args[0], out);
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Memory may end behind the path. False: it could not be read to its end. */
static bool read_path(const struct hd_worker *k, uint64_t address, char *path, size_t size) {
    size_t page = 4096 - address % 4096, first = page < size ? page : size;
    long n = hd_os.pread(k->mem_fd, path, first, address);
    if (n == (long)first && memchr(path, '\0', first) == NULL && first < size) {
        long more = hd_os.pread(k->mem_fd, path + first, size - first, address + first);
        n += more > 0 ? more : 0;
    }
    return n > 0 && memchr(path, '\0', (size_t)n) != NULL;
}

/* False: the call has no path, or an empty one. A file is not asked whether it is a named pipe: its server
 * may be what does not answer; who opens one waits in a place that has a name. */
static bool find_path(const struct hd_worker *k, int tid, uint64_t address, struct hd_evidence *out) {
    char path[PATH_MAX];
    enum hd_fd_kind device = HD_FD_NONE;
    if (address == 0) {
        return false;
    }
    if (read_path(k, address, path, sizeof path)) {
        if (path[0] == '\0') {
            return false;
        }
        hd_text_base_name(out->path, sizeof out->path, path);
        device = hd_device_kind(path);
    }
    out->fd_kind = hd_place_of(k->proc_fd, tid) == HD_FD_PIPE ? HD_FD_PIPE
                   : device != HD_FD_NONE                     ? (uint8_t)device
                                                              : HD_FD_FILE;
    return true;
}

/* fstat, futimens and their kin come as calls by path, without one. */
static void find_file(const struct hd_worker *k, int tid, const struct hd_capture *c,
                      struct hd_evidence *out) {
    enum hd_object object = hd_syscall_object(c->syscall_nr);
    if (object != HD_OBJECT_NONE &&
        (object == HD_OBJECT_DESCRIPTOR ||
         !find_path(k, tid, c->syscall_args[object == HD_OBJECT_SECOND_PATH], out))) {
        out->fd_kind = (uint8_t)hd_fd_kind_of(k->proc_fd, tid, (int)c->syscall_args[0], out);
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

void hd_evidence_gather(struct hd_worker *k, int tid, const struct hd_capture *c,
                        const struct hd_frame *frames, uint32_t count, uint64_t turn_ns,
                        struct hd_evidence *out) {
    *out = (struct hd_evidence){.state = c->state, .syscall_nr = c->syscall_nr};
    if (c->syscall_nr == HD_SYSCALL_NONE) {
        return;
    }
    switch (hd_syscall_wait(c->syscall_nr)) {
    case HD_WAIT_FILE:
        find_file(k, tid, c, out);
        break;
    case HD_WAIT_DESCRIPTOR:
    case HD_WAIT_SOCKET:
        hd_fd_of_call(k->proc_fd, tid, c, out);
        break;
    case HD_WAIT_ANY:
        kind_of_set(k, tid, c, out);
        if (out->fd_kind == HD_FD_EVENT) {
            find_asked(k, frames, count, out);
        }
        break;
    case HD_WAIT_LOCK:
        find_lock(k, tid, c, frames, count, out);
        if (!out->owned) { /* a shell may wait for a semaphore that its handler of SIGCHLD posts */
            struct hd_evidence child = {0};
            hd_evidence_child(k, tid, turn_ns, &child);
            out->excused = child.excused;
        }
        return;
    case HD_WAIT_MEMORY:
        out->vforked = is_vfork(k, c);
        if (!out->vforked) {
            return;
        }
        break;
    case HD_WAIT_TIME:
    case HD_WAIT_OTHER:
        return;
    case HD_WAIT_SIGNAL:
    case HD_WAIT_CHILD:
        break;
    }
    find_peer(k, tid, out);
    int32_t named = out->child_pid;
    hd_evidence_child(k, tid, turn_ns, out);
    out->child_pid = named != 0 ? named : awaited_child(k, tid, c, out->child_pid);
}
