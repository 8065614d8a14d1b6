/* SPDX-License-Identifier: MIT
 *
 * A small server that gives up a right. `gives-up HOW FILE`: a loop that ticks at 50 Hz, gives it up, ticks
 * on, sleeps for 0.5 s in `sleeping_callback`, ticks, and exits with 7. It prints which of the process's
 * other threads has a right that its own has not: at once, after some ticks, and at the end. What no file of
 * /proc says of a thread, the thread does itself: it runs a handler of signal 32, which our threads leave
 * open for libc, and opens FILE there. HOW: below; `NAME/number`: by syscall(), `NAME/inline`: by the
 * instruction. `loop-NAME`: again and again, and how long a call took.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "listening.h"
#include "os/linux/syscall.h"

#define UNPRIVILEGED 65534
#define ESCAPE 32

extern int capset(cap_user_header_t header, const struct __user_cap_data_struct *data);

static const char *secret;
static int server, namespace_fd;

/* ---- what a thread may do
 * --------------------------------------------------------------------------------------- */

static struct { /* what the handler found */
    volatile int done;
    long opened, securebits, keyring;
} found;

static void look(int number) {
    (void)number;
    found.opened = hd_syscall4(SYS_openat, AT_FDCWD, secret, O_RDONLY | O_CLOEXEC, 0);
    for (long fd = 0; fd < 64 && found.opened < 0; fd++) { /* a folder outside of the root */
        char path[256] = "../../../../../../../..";
        strncat(path, secret, sizeof path - strlen(path) - 1);
        found.opened = hd_syscall4(SYS_openat, fd, path, O_RDONLY | O_CLOEXEC, 0);
    }
    if (found.opened >= 0) {
        hd_syscall1(SYS_close, found.opened);
        found.opened = 0;
    }
    found.securebits = hd_syscall1(SYS_prctl, PR_GET_SECUREBITS);
    found.keyring = hd_syscall3(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
    found.done = 1;
}

#if defined(__x86_64__)
__asm__(".text\nreturn_from_it:\nmov $15, %eax\nsyscall\n");
extern void return_from_it(void);
#define RESTORER (uintptr_t) return_from_it
#else
#define RESTORER 0
#endif

/* libc's sigaction refuses that signal. */
static void handle_escapes(void) {
    struct {
        uintptr_t handler;
        unsigned long flags;
        uintptr_t restorer;
        uint64_t mask;
    } act = {(uintptr_t)look, RESTORER != 0 ? 0x04000000 : 0, RESTORER, 0};
    hd_syscall4(SYS_rt_sigaction, ESCAPE, &act, NULL, 8);
}

static bool ask(int tid) {
    found.done = 0;
    if (tid == (int)getpid()) {
        look(0);
    } else if (hd_syscall3(SYS_tgkill, getpid(), tid, ESCAPE) != 0) {
        return false;
    }
    for (int i = 0; i < 2000 && !found.done; i++) {
        struct timespec t = {0, 1000000};
        hd_syscall2(SYS_nanosleep, &t, NULL);
    }
    return found.done != 0;
}

struct rights {
    uint64_t caps[5], no_new_privs, seccomp, uid[3];
    char groups[256], net[64], mnt[64], uts[64], cwd[64];
    long opened, securebits, keyring;
};

static const char *const sets[] = {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};

static bool read_rights(int tid, struct rights *r) {
    char path[64], line[512];
    memset(r, 0, sizeof *r);
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        for (unsigned i = 0; i < 5; i++) {
            if (strncmp(line, sets[i], 7) == 0) {
                r->caps[i] = strtoull(line + 7, NULL, 16);
            }
        }
        (void)sscanf(line, "NoNewPrivs: %ju", &r->no_new_privs);
        (void)sscanf(line, "Seccomp: %ju", &r->seccomp);
        (void)sscanf(line, "Uid: %ju %ju %ju", &r->uid[0], &r->uid[1], &r->uid[2]);
        (void)sscanf(line, "Groups: %255[^\n]", r->groups);
    }
    if (f == NULL || fclose(f) != 0) {
        return false;
    }
    static const char *const names[] = {"ns/net", "ns/mnt", "ns/uts", "cwd"};
    char *links[] = {r->net, r->mnt, r->uts, r->cwd};
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, names[i]);
        if (readlink(path, links[i], sizeof r->net - 1) < 0) {
            return false;
        }
    }
    if (!ask(tid)) {
        return false;
    }
    r->opened = found.opened;
    r->securebits = found.securebits;
    r->keyring = found.keyring;
    return true;
}

static int print_more(const struct rights *own, const struct rights *its) {
    int more = 0;
    for (unsigned i = 0; i < 5; i++) {
        if ((its->caps[i] & ~own->caps[i]) != 0) {
            more += printf(" %s %jx", sets[i], its->caps[i]);
        }
    }
    more += its->no_new_privs < own->no_new_privs ? printf(" NoNewPrivs: 0") : 0;
    more += its->seccomp < own->seccomp ? printf(" Seccomp: 0") : 0;
    more += its->securebits != own->securebits ? printf(" securebits %lx", its->securebits) : 0;
    more += strcmp(its->net, own->net) != 0 ? printf(" %s", its->net) : 0;
    more += strcmp(its->mnt, own->mnt) != 0 ? printf(" %s", its->mnt) : 0;
    more += strcmp(its->uts, own->uts) != 0 ? printf(" %s", its->uts) : 0;
    more += strcmp(its->cwd, own->cwd) != 0 ? printf(" cwd %s", its->cwd) : 0;
    more += its->keyring != own->keyring ? printf(" keyring %lx", its->keyring) : 0;
    more += its->opened == 0 && own->opened != 0 ? printf(" opens %s", secret) : 0;
    if ((own->caps[1] & 1U << CAP_SETUID) == 0) {
        more += memcmp(its->uid, own->uid, sizeof own->uid) != 0 ? printf(" Uid: %ju", its->uid[0]) : 0;
        more += strcmp(its->groups, own->groups) != 0 ? printf(" Groups: %s", its->groups) : 0;
    }
    return more;
}

static void check(const char *when) {
    struct rights own, its;
    int threads = 0, more = 0;
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL || !read_rights((int)getpid(), &own)) {
        exit(5);
    }
    printf("%s:", when);
    for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
        int tid = atoi(e->d_name);
        if (tid == 0 || tid == (int)getpid()) {
            continue;
        }
        if (read_rights(tid, &its)) { /* else it has ended meanwhile */
            threads++;
            more += print_more(&own, &its);
        }
    }
    closedir(tasks);
    printf("%s (%d threads)\n", more != 0 ? "" : " no more", threads);
}

/* ---- ways to call
 * ----------------------------------------------------------------------------------------------- */

static enum {
    BY_LIBC,
    BY_NUMBER,
    BY_INSTRUCTION
} way;

static int call(long n, long a, long b, long c, long d, long e) {
    if (way != BY_INSTRUCTION) {
        return (int)syscall(n, a, b, c, d, e);
    }
    long result = hd_syscall6(n, a, b, c, d, e, 0);
    errno = result < 0 ? (int)-result : errno;
    return result < 0 ? -1 : (int)result;
}

static int by_prctl(long option, long a, long b) {
    return way == BY_LIBC ? prctl((int)option, a, b, 0, 0) : call(SYS_prctl, option, a, b, 0, 0);
}

static int set_capabilities(uint64_t effective, uint64_t permitted) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        caps[i] = (struct __user_cap_data_struct){(uint32_t)(effective >> (32 * i)),
                                                  (uint32_t)(permitted >> (32 * i)), 0};
    }
    return way == BY_LIBC ? capset(&header, caps) : call(SYS_capset, (long)&header, (long)caps, 0, 0, 0);
}

static uint64_t permitted(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2] = {{0}};
    hd_syscall2(SYS_capget, &header, caps);
    return (uint64_t)caps[1].permitted << 32 | caps[0].permitted;
}

static int leave_by_unshare(long flags) {
    return way == BY_LIBC ? unshare((int)flags) : call(SYS_unshare, flags, 0, 0, 0, 0);
}

/* Only these may be read: /proc, and what a program needs. */
static int restrict_by_landlock(bool programs) {
    static const char *const folders[] = {"/proc", "/usr", "/etc"};
    struct landlock_ruleset_attr all = {LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    for (int i = 0; i < (programs ? 3 : 1); i++) {
        struct landlock_path_beneath_attr one = {all.handled_access_fs, open(folders[i], O_PATH | O_CLOEXEC)};
        if (rules < 0 || syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &one, 0) != 0) {
            return -2;
        }
        close(one.parent_fd);
    }
    int result = call(SYS_landlock_restrict_self, rules, 0, 0, 0, 0);
    close(rules);
    return result;
}

/* Becomes another program, where our library may not be read. */
static int become(void) {
    return restrict_by_landlock(true) != 0 ? -2 : execl("/bin/echo", "echo", "became another program", NULL);
}

static int install_filter(void) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, allow};
    return call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0);
}

static int change_user(void) {
    static const gid_t group = UNPRIVILEGED;
    return call(SYS_setgroups, 1, (long)&group, 0, 0, 0) |
           call(SYS_setresgid, UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED, 0, 0) |
           call(SYS_setresuid, UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED, 0, 0);
}

static int change_groups_first(void) {
    static const gid_t group = UNPRIVILEGED;
    return call(SYS_setgroups, 1, (long)&group, 0, 0, 0) |
           setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED) |
           setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED);
}

/* Root and working directory are its own then: what it changes is not that of threads which were there
 * before. */
static int have_own_root(void) {
    return leave_by_unshare(CLONE_FS) | chdir("/proc");
}

static int give_up(const char *how) {
#define IS(name) (strcmp(how, name) == 0)
    return IS("capabilities") ? set_capabilities(0, 0)
           : IS("some")       ? set_capabilities(0, permitted() & ~(1ULL << CAP_SYS_ADMIN))
           : IS("effective")  ? set_capabilities(0, permitted())
           : IS("privileges") ? by_prctl(PR_SET_NO_NEW_PRIVS, 1, 0)
           : IS("bounding")   ? by_prctl(PR_CAPBSET_DROP, CAP_SYS_MODULE, 0)
           : IS("ambient")    ? by_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0)
           : IS("securebits") ? by_prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0)
           : IS("landlock")   ? restrict_by_landlock(false)
           : IS("exec")       ? become()
           : IS("net")        ? leave_by_unshare(CLONE_NEWNET)
           : IS("mounts")     ? leave_by_unshare(CLONE_NEWNS)
           : IS("uts")        ? leave_by_unshare(CLONE_NEWUTS)
           : IS("root")       ? have_own_root()
           : IS("jail")       ? (way == BY_LIBC ? chroot(".") : call(SYS_chroot, (long)".", 0, 0, 0, 0))
           : IS("join")       ? (way == BY_LIBC ? setns(namespace_fd, CLONE_NEWNET)
                                                : call(SYS_setns, namespace_fd, 0, 0, 0, 0))
           : IS("ids")        ? change_user()
           : IS("groups")     ? change_groups_first()
           : IS("keyring")    ? -(call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) < 0)
           : IS("filter")     ? install_filter()
                              : -3;
}

/* ---- the server
 * ------------------------------------------------------------------------------------------------- */

static void tick(int times) {
    for (int i = 0; i < times; i++) {
        struct pollfd p = {.fd = server, .events = POLLIN};
        poll(&p, 1, 20);
    }
}

__attribute__((noinline)) static void sleeping_callback(void) {
    struct timespec t = {0, 500000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static int count_threads(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks != NULL && readdir(tasks) != NULL) {
        count++;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count - 2; /* "." and ".." */
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int again_and_again(const char *how) {
    uint64_t all = permitted();
    int result = 0, own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    double spent = 0;
    unsigned calls = 0;
    for (double end = now_us() + 1e6; now_us() < end && result == 0; calls += 2) {
        double begin = now_us();
        if (strcmp(how, "effective") == 0) {
            result = set_capabilities(0, all) | set_capabilities(all, all);
        } else if (strcmp(how, "ids") == 0) {
            result = call(SYS_setresuid, -1, UNPRIVILEGED, -1, 0, 0) | call(SYS_setresuid, -1, 0, -1, 0, 0);
        } else if (strcmp(how, "privileges") == 0) {
            result = by_prctl(PR_SET_NO_NEW_PRIVS, 1, 0) | by_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
        } else {
            result = setns(namespace_fd, CLONE_NEWNET) | setns(own, CLONE_NEWNET);
        }
        spent += now_us() - begin;
        struct pollfd p = {.fd = server, .events = POLLIN};
        poll(&p, 1, 1);
    }
    printf("a call took %.1f us\n", spent / calls);
    return result;
}

static int another_network(void) {
    int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0 || hd_syscall1(SYS_unshare, CLONE_NEWNET) != 0) {
        return -1;
    }
    int other = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    return hd_syscall2(SYS_setns, own, CLONE_NEWNET) == 0 ? other : -1;
}

int main(int argc, char **argv) {
    char how[32];
    if (argc != 3) {
        return 2;
    }
    snprintf(how, sizeof how, "%s", argv[1]);
    secret = argv[2];
    char *slash = strchr(how, '/');
    if (slash != NULL) {
        *slash = '\0';
        way = strcmp(slash + 1, "inline") == 0 ? BY_INSTRUCTION : BY_NUMBER;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    server = listening_socket();
    bool loops = strncmp(how, "loop-", 5) == 0;
    namespace_fd = strcmp(how, "join") == 0 || strcmp(how, "loop-join") == 0 ? another_network() : -1;
    handle_escapes();
    tick(10);
    errno = 0;
    if ((loops ? again_and_again(how + 5) : give_up(how)) != 0) {
        printf("%s: %s\n", how, strerror(errno));
        return 3;
    }
    if (errno != 0) {
        return 4;
    }
    if (way != BY_INSTRUCTION) {
        check("at once");
    }
    for (int i = 0; loops && i < 20 && count_threads() < 3; i++) {
        tick(25); /* the watch comes again when it has cost a twentieth of the time */
    }
    tick(way == BY_INSTRUCTION ? 120 : 30);
    check("later");
    sleeping_callback();
    tick(15);
    check("at the end");
    return 7;
}
