/* SPDX-License-Identifier: MIT */
#include "agent/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/sanitize.h"
#include "os/linux/proc_files.h"
#include "os/linux/proc_stat.h"
#include "os/linux/proc_text.h"
#include "os/os.h"

#define CHECKS 5u /* one a second: how long a file may take to answer */
#define LEFT_NS (3600 * HD_NS_PER_S)

struct supervision *supervision_create(void) {
    void *memory =
        mmap(NULL, sizeof(struct supervision), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

bool supervision_leaves(const struct supervision *s, pid_t pid, uint64_t started_ns, uint64_t now_ns) {
    uint32_t count = atomic_load(&s->left);
    for (uint32_t i = 0; i < count; i++) {
        if (s->process[i].pid == pid && s->process[i].started_ns == started_ns &&
            now_ns < s->process[i].until_ns) {
            return true;
        }
    }
    return false;
}

/* ---- the second process ----------------------------------------------------------------------- */

static struct hd_proc_stat stat_of(pid_t pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return hd_proc_stat_read(AT_FDCWD, path);
}

static void read_name(pid_t pid, char *name, size_t size) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    long n = hd_proc_read(AT_FDCWD, path, name, size);
    name[n > 0 ? n - 1 : 0] = '\0'; /* without the new line */
    sanitize_text(name);
}

/* False: the list is full, so all of the disk may be slow, and no process is to blame. */
static bool leave_out(struct supervision *s, pid_t pid, const char *why) {
    uint64_t now_ns = hd_os_now_ns();
    uint32_t count = atomic_load(&s->left), i = 0;
    char name[64];
    while (i < count && now_ns < s->process[i].until_ns) {
        i++;
    }
    if (i == SUPERVISOR_LEFT) {
        return false;
    }
    s->process[i].pid = pid;
    s->process[i].started_ns = stat_of(pid).started_boot_ns;
    s->process[i].until_ns = now_ns + LEFT_NS;
    atomic_store(&s->left, i == count ? count + 1 : count);
    read_name(pid, name, sizeof name);
    fprintf(stderr, "hangdog: leaves out %s[%d] for an hour: %s\n", name, (int)pid, why);
    return true;
}

/* Writes go to the spool, so no watched process is to blame for them. */
static bool reads(pid_t child) {
    static const long writes[] = {SYS_write,    SYS_pwrite64, SYS_fsync,  SYS_fdatasync,
                                  SYS_renameat, SYS_unlinkat, SYS_mkdirat};
    char path[32], text[HD_PROC_SYSCALL_BYTES];
    struct hd_proc_syscall call;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)child);
    long n = hd_proc_read(AT_FDCWD, path, text, sizeof text);
    bool blocked = n > 0 && hd_proc_parse_syscall(text, (size_t)n, &call) && call.where == HD_PROC_BLOCKED;
    for (size_t i = 0; blocked && i < sizeof writes / sizeof writes[0]; i++) {
        blocked = call.nr != writes[i];
    }
    return blocked;
}

struct second {
    pid_t pid;
    working seen;
    unsigned checks; /* in how many it was blocked at the same place */
};

static bool is_stuck(struct second *child, const struct supervision *s) {
    uint64_t now = atomic_load(&s->now);
    bool same = now == atomic_load(&child->seen) && (pid_t)now != 0 &&
                strchr("DS", stat_of(child->pid).state) != NULL;
    atomic_store(&child->seen, now);
    child->checks = same ? child->checks + 1 : 0;
    return child->checks >= CHECKS && reads(child->pid);
}

static pid_t start(struct supervision *s, const sigset_t *before, int (*work)(void *arg), void *arg) {
    pid_t parent = getpid();
    working_for(&s->now, 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigprocmask(SIG_SETMASK, before, NULL);
        exit(getppid() == parent ? work(arg) : EXIT_FAILURE);
    }
    return child;
}

/* ---- the first one ---------------------------------------------------------------------------- */

/* After a signal that ends the agent. A process that is stuck cannot be waited for. */
static int stop(pid_t child, const sigset_t *ours) {
    static const struct timespec patience = {.tv_sec = 10};
    int status = 0;
    (void)kill(child, SIGTERM);
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (sigtimedwait(ours, NULL, &patience) < 0 && errno == EAGAIN) {
            (void)kill(child, SIGKILL);
            return EXIT_SUCCESS;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

/* The second process has ended. True, and its status: it is not to be started again. */
static bool is_over(struct supervision *s, int status, int *result) {
    pid_t of = (pid_t)atomic_load(&s->now);
    char why[64];
    if (WIFEXITED(status)) {
        *result = WEXITSTATUS(status);
        return true;
    }
    snprintf(why, sizeof why, "its watch ended by signal %d", WTERMSIG(status));
    *result = 128 + WTERMSIG(status);
    return of == 0 || WTERMSIG(status) == SIGKILL || !leave_out(s, of, why);
}

static void fill_set(sigset_t *set) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(set, numbers[i]);
    }
}

/* True: the second process is to be replaced, for a file of a process does not answer. */
static bool give_up(struct supervision *s, struct second *child) {
    if (!is_stuck(child, s) ||
        !leave_out(s, (pid_t)atomic_load(&s->now), "its files or its memory do not answer")) {
        return false;
    }
    (void)kill(child->pid, SIGKILL); /* it may stay until its file answers */
    return true;
}

int supervise(struct supervision *s, int (*work)(void *arg), void *arg) {
    static const struct timespec second = {.tv_sec = 1};
    struct second child = {.pid = 0};
    sigset_t ours, before;
    int status, result = EXIT_FAILURE;
    fill_set(&ours);
    sigprocmask(SIG_BLOCK, &ours, &before);
    for (;;) {
        child.pid = child.pid != 0 ? child.pid : start(s, &before, work, arg);
        if (child.pid < 0) {
            return print_error("cannot start: %s", strerror(errno));
        }
        int number = sigtimedwait(&ours, NULL, &second);
        if (number == SIGTERM || number == SIGINT) {
            return stop(child.pid, &ours);
        }
        if (number == SIGHUP) {
            (void)kill(child.pid, SIGHUP);
        }
        if (waitpid(child.pid, &status, WNOHANG) == child.pid) {
            if (is_over(s, status, &result)) {
                return result;
            }
            child = (struct second){.pid = 0};
        } else if (number < 0 && give_up(s, &child)) {
            child = (struct second){.pid = 0};
        }
    }
}
