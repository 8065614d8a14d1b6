/* SPDX-License-Identifier: MIT */
#include "agent/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/types.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/linux/proc_text.h"
#include "os/linux/proc_walk.h"
#include "os/syscall_table.h"

#define FIRST_NS (1 * HD_NS_PER_S)
#define SECOND_NS (10 * HD_NS_PER_S)
#define LATER_NS (60 * HD_NS_PER_S)
#define MUCH_LATER_NS (300 * HD_NS_PER_S)
#define OFTEN 10u /* looks, before it is looked at much later */
#define PROCESSES_MAX 100000
#define THREADS_MAX 4096u     /* looked at, of one process */
#define OF_KERNEL 0x00200000u /* PF_KTHREAD in the kernel's sched.h */

/* ---- the list --------------------------------------------------------------------------------- */

struct numbers {
    pid_t *pid;
    size_t count, size;
};

static bool add_number(void *arg, uint64_t number) {
    struct numbers *n = arg;
    if (n->count == n->size) {
        size_t size = n->size != 0 ? 2 * n->size : 1024;
        pid_t *more = size <= 2 * (size_t)PROCESSES_MAX ? realloc(n->pid, size * sizeof *more) : NULL;
        if (more == NULL) {
            return true;
        }
        n->pid = more;
        n->size = size;
    }
    n->pid[n->count++] = (pid_t)number;
    return false;
}

static int compare_numbers(const void *a, const void *b) {
    const pid_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static struct hd_proc_stat stat_of(pid_t pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return hd_proc_stat_read(AT_FDCWD, path);
}

/* Its files are read at the first look: most new processes of a host have ended by then. */
static struct host_process make_new(pid_t pid, uint64_t now_ns) {
    return (struct host_process){
        .pid = pid, .is = pid == getpid() ? PROCESS_NEVER : PROCESS_NEW, .next_ns = now_ns + FIRST_NS};
}

int processes_scan(struct processes *p, uint64_t now_ns, void (*gone)(void *arg, struct host_process *of),
                   void *arg) {
    struct numbers n = {0};
    int dir = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        return -errno;
    }
    bool failed = hd_proc_walk_numbers(dir, ".", UINT64_MAX, add_number, &n);
    close(dir);
    struct host_process *all = failed ? NULL : malloc((n.count + 1) * sizeof *all);
    if (all == NULL) {
        free(n.pid);
        return -ENOMEM;
    }
    qsort(n.pid, n.count, sizeof n.pid[0], compare_numbers);
    size_t old = 0;
    for (size_t i = 0; i < n.count; i++) {
        for (; old < p->count && p->process[old].pid < n.pid[i]; old++) {
            gone(arg, &p->process[old]);
        }
        bool known = old < p->count && p->process[old].pid == n.pid[i];
        all[i] = known ? p->process[old++] : make_new(n.pid[i], now_ns);
    }
    for (; old < p->count; old++) {
        gone(arg, &p->process[old]);
    }
    free(p->process);
    free(n.pid);
    p->process = all;
    p->count = n.count;
    return 0;
}

void processes_free(struct processes *p) {
    free(p->process);
    *p = (struct processes){0};
}

struct host_process *processes_find(struct processes *p, pid_t pid) {
    size_t low = 0, high = p->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->process[middle].pid < pid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < p->count && p->process[low].pid == pid ? &p->process[low] : NULL;
}

/* ---- looks ------------------------------------------------------------------------------------ */

struct host_process *processes_due(struct processes *p, uint64_t now_ns) {
    for (size_t i = 0; i < p->count; i++) {
        struct host_process *one = &p->process[(p->cursor + i) % p->count];
        if (one->next_ns > now_ns || one->is == PROCESS_WATCHED) {
            continue;
        }
        struct hd_proc_stat st = stat_of(one->pid);
        if (one->looks != 0 && st.started_boot_ns != one->started_ns) {
            *one = make_new(one->pid, now_ns);
            continue;
        }
        one->started_ns = st.started_boot_ns;
        one->is = (st.flags & OF_KERNEL) != 0 ? PROCESS_NEVER : one->is;
        p->cursor = (p->cursor + i + 1) % p->count;
        one->looks++;
        one->next_ns = now_ns + (one->looks == 1      ? SECOND_NS - FIRST_NS
                                 : one->looks < OFTEN ? LATER_NS
                                                      : MUCH_LATER_NS);
        if (one->is == PROCESS_NEW || one->is == PROCESS_SHED) {
            return one;
        }
    }
    return NULL;
}

void processes_look_again(struct processes *p, uint64_t now_ns) {
    for (size_t i = 0; i < p->count; i++) {
        struct host_process *one = &p->process[i];
        one->is = one->is == PROCESS_IGNORED ? PROCESS_NEW : one->is;
        one->next_ns = now_ns;
    }
}

uid_t process_user(pid_t pid) {
    char path[32], status[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    const char *at =
        hd_proc_read(AT_FDCWD, path, status, sizeof status) > 0 ? hd_proc_find_line(status, "Uid:") : NULL;
    return at != NULL ? (uid_t)strtoul(at, NULL, 10) : 0;
}

struct look {
    int proc_fd;
    unsigned threads;
};

static bool is_wait(int32_t nr) {
    const char *name = hd_syscall_name(nr);
    return hd_syscall_wait(nr) == HD_WAIT_ANY || (name != NULL && strcmp(name, "io_uring_enter") == 0);
}

static bool look_at(void *arg, uint64_t number) {
    struct look *l = arg;
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_proc_syscall call;
    long n = hd_proc_read_task(l->proc_fd, (int)number, "syscall", text, sizeof text);
    bool waits = n > 0 && hd_proc_parse_syscall(text, (size_t)n, &call) && call.where == HD_PROC_BLOCKED &&
                 is_wait(call.nr);
    return waits || ++l->threads == THREADS_MAX;
}

bool process_waits(pid_t pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    struct look l = {.proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    bool waits = l.proc_fd >= 0 && hd_proc_walk_numbers(l.proc_fd, "task", UINT64_MAX, look_at, &l) &&
                 l.threads < THREADS_MAX;
    if (l.proc_fd >= 0) {
        close(l.proc_fd);
    }
    return waits;
}
