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
#include "os/notify_socket.h"
#include "os/os.h"

#define CHECKS 5u /* one a second: how long a file may take to answer */
#define LEFT_NS (3600 * HD_NS_PER_S)
#define PEOPLE 1000u /* users of services have smaller numbers */
#define PAUSE_NS (10 * HD_NS_PER_S)
#define PAUSE_MAX_NS (300 * HD_NS_PER_S)

struct supervision *supervision_create(void) {
    void *memory =
        mmap(NULL, sizeof(struct supervision), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct supervision *s = memory != MAP_FAILED ? memory : NULL;
    if (s != NULL) {
        s->pause_ns = PAUSE_NS;
    }
    return s;
}

static bool lasts(const struct supervision_left *l, uint64_t now_ns) {
    return l->pid != 0 && (now_ns < l->until_ns || atomic_load(&l->stays) != 0);
}

bool supervision_leaves(const struct supervision *s, pid_t pid, uint64_t started_ns, uid_t user,
                        uint64_t now_ns) {
    unsigned of_user = 0;
    bool leaves = user >= PEOPLE && now_ns < s->people_until_ns;
    for (unsigned i = 0; i < SUPERVISOR_LEFT; i++) {
        const struct supervision_left *l = &s->process[i];
        if (lasts(l, now_ns)) {
            leaves |= l->pid == pid && l->started_ns == started_ns;
            of_user += user != 0 && l->user == user;
        }
    }
    return leaves || of_user >= SUPERVISOR_OF_USER;
}

void supervision_take_signals(const struct supervision *s) {
    sigprocmask(SIG_SETMASK, &s->before, NULL);
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

/* NULL: the list is full of services' processes, so all of the disk may be slow, and no process is to blame.
 */
static struct supervision_left *find_place(struct supervision *s, uint64_t now_ns) {
    struct supervision_left *of_people = NULL;
    for (unsigned i = 0; i < SUPERVISOR_LEFT; i++) {
        if (!lasts(&s->process[i], now_ns)) {
            return &s->process[i];
        }
        of_people = s->process[i].user >= PEOPLE ? &s->process[i] : of_people;
    }
    if (of_people != NULL) {
        s->people_until_ns = now_ns + LEFT_NS;
        fprintf(
            stderr,
            "hangdog: leaves out all users from %u on for an hour: too many of their programs do not answer\n",
            PEOPLE);
    }
    return of_people;
}

/* The process for which the second one worked. `stays`: the second one, if it does not end; else 0. */
static bool leave_out(struct supervision *s, pid_t stays, const char *why) {
    uint64_t now_ns = hd_os_now_ns();
    struct supervision_left *l = find_place(s, now_ns);
    char name[64];
    if (l == NULL) {
        return false;
    }
    l->pid = (pid_t)atomic_load(&s->now.now);
    l->user = atomic_load(&s->now.user);
    l->started_ns = stat_of(l->pid).started_boot_ns;
    l->until_ns = now_ns + LEFT_NS;
    atomic_store(&l->stays, stays);
    read_name(l->pid, name, sizeof name);
    fprintf(stderr, "hangdog: leaves out %s[%d] for an hour: %s\n", name, (int)l->pid, why);
    if (supervision_leaves(s, 0, 0, l->user, now_ns)) {
        fprintf(stderr, "hangdog: leaves out all programs of user %u for an hour\n", (unsigned)l->user);
    }
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
    pid_t pid; /* of the second process; 0: it does not run */
    uint64_t seen;
    unsigned checks; /* in how many it was blocked at the same place */
    uint64_t started_ns;
    uint64_t pause_ns, again_ns; /* after the kernel killed it */
};

static bool is_stuck(struct second *child, const struct supervision *s) {
    uint64_t now = atomic_load(&s->now.now);
    bool same = now == child->seen && (pid_t)now != 0 && strchr("DS", stat_of(child->pid).state) != NULL;
    child->seen = now;
    child->checks = same ? child->checks + 1 : 0;
    return child->checks >= CHECKS && reads(child->pid);
}

/* The signals stay blocked until it has its handlers. */
static pid_t start(struct supervision *s, struct second *child, int (*work)(void *arg), void *arg) {
    pid_t parent = getpid();
    working_for(&s->now, 0, 0);
    child->checks = 0;
    child->started_ns = hd_os_now_ns();
    child->pid = fork();
    if (child->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        exit(getppid() == parent ? work(arg) : EXIT_FAILURE);
    }
    return child->pid;
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

/* True: the second process has ended. Those that stayed may end, too. */
static bool has_ended(struct supervision *s, pid_t second, int *status) {
    bool has = false;
    int its;
    for (pid_t pid; (pid = waitpid(-1, &its, WNOHANG)) > 0;) {
        if (pid == second) {
            *status = its;
            has = true;
        }
        for (unsigned i = 0; i < SUPERVISOR_LEFT; i++) {
            (void)atomic_compare_exchange_strong(&s->process[i].stays, &(pid_t){pid}, 0);
        }
    }
    return has;
}

/* No process is to blame. One that ran for long had no fault from its start. */
static void start_later(const struct supervision *s, struct second *child, int number) {
    uint64_t now_ns = hd_os_now_ns(), twice_ns = 2 * child->pause_ns;
    bool first = child->pause_ns == 0 || now_ns > child->started_ns + 2 * PAUSE_MAX_NS;
    child->pause_ns = first ? s->pause_ns : twice_ns < PAUSE_MAX_NS ? twice_ns : PAUSE_MAX_NS;
    child->again_ns = now_ns + child->pause_ns;
    fprintf(stderr, "hangdog: signal %d ended the watch%s; it starts again in %u s\n", number,
            number == SIGKILL ? ", as where memory is short" : "", (unsigned)(child->pause_ns / HD_NS_PER_S));
}

/* The second process has ended. True, and its status: it is not to be started again. */
static bool is_over(struct supervision *s, struct second *child, int status, int *result) {
    char why[64];
    child->pid = 0;
    if (WIFEXITED(status)) {
        *result = WEXITSTATUS(status);
        return true;
    }
    int number = WTERMSIG(status);
    snprintf(why, sizeof why, "its watch ended by signal %d", number);
    *result = 128 + number;
    if (number != SIGKILL && (pid_t)atomic_load(&s->now.now) == 0) {
        return true;
    }
    if (number == SIGKILL || !leave_out(s, 0, why)) {
        start_later(s, child, number);
    }
    return false;
}

static void fill_set(sigset_t *set) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaddset(set, numbers[i]);
    }
}

/* Replaces the second process, if a file of a process does not answer. */
static void look_at(struct supervision *s, struct second *child) {
    if (is_stuck(child, s) && leave_out(s, child->pid, "its files or its memory do not answer")) {
        (void)kill(child->pid, SIGKILL); /* the process may stay until its file answers */
        child->pid = 0;
    }
}

/* systemd is to wait, too. */
static void say_waits(void) {
    const char *address = getenv("NOTIFY_SOCKET");
    int fd = address != NULL ? hd_notify_open(address) : -1;
    (void)hd_notify_send(fd, "WATCHDOG=1\nSTATUS=watches nothing: it was killed, and starts again soon");
    hd_os_close(fd);
}

int supervise(struct supervision *s, int (*work)(void *arg), void *arg) {
    static const struct timespec second = {.tv_sec = 1};
    struct second child = {.pid = 0};
    sigset_t ours;
    int status, result = EXIT_FAILURE;
    fill_set(&ours);
    sigprocmask(SIG_BLOCK, &ours, &s->before);
    for (;;) {
        if (child.pid == 0 && hd_os_now_ns() >= child.again_ns && start(s, &child, work, arg) < 0) {
            return print_error("cannot start: %s", strerror(errno));
        }
        int number = sigtimedwait(&ours, NULL, &second);
        if (number == SIGTERM || number == SIGINT) {
            return child.pid != 0 ? stop(child.pid, &ours) : EXIT_SUCCESS;
        }
        if (number == SIGHUP && child.pid != 0) {
            (void)kill(child.pid, SIGHUP);
        }
        if (has_ended(s, child.pid, &status)) {
            if (is_over(s, &child, status, &result)) {
                return result;
            }
        } else if (child.pid == 0) {
            say_waits();
        } else if (number < 0) {
            look_at(s, &child);
        }
    }
}
