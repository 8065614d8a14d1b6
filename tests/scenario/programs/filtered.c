/* SPDX-License-Identifier: MIT
 *
 * A small server that installs a seccomp filter which ends it for any call but the few it needs. `filtered
 * HOW`: a loop that ticks at 20 Hz, installs the filter, ticks on, computes for 1.2 s in `busy_callback` and
 * sleeps for 1.2 s in `sleeping_callback` with ticks between them, and exits with 7. Prints how long each
 * took, by its own clock, in ms. HOW: by which call; `twice`: one filter after the other; `late`: sleeps
 * before, too; `thread`: another thread does it, for itself. It has given up to change who it is; `filtered
 * setid` has not, and does under its filter, which allows that too; `joined-setid`: had a second thread
 * before.
 * `filtered launch
 * deadly|harmless|blind|prctl|user|old|denied|unaware|refused PROGRAM ARGS...`: runs PROGRAM under a filter
 * that ends it for a call that every monitor makes, or for one that none does, or for prctl; where it may not
 * read its own memory by a call; where geteuid names a user whom no file belongs to; where close_range is not
 * there, as before Linux 5.9, or where unshare may not be called either (unaware: or where faccessat2 is one
 * that the filter does not know; refused: or memfd_create), or that ends it for one of the runner's calls, by
 * its name. `filtered becomes PROGRAM ARGS...`: becomes it under a filter of its own. `filtered vfork`:
 * children that share the memory have filters of their own; then a thread that is called worker sleeps for
 * 0.7 s in its loop, and the program becomes `filtered asks`.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "listening.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILLS(name) \
    { #name, SYS_##name, SECCOMP_RET_KILL_PROCESS }

/* No futex, no signal's return, no clock, nothing that asks who we are. */
static struct sock_filter filter[] = {LOAD(nr),          ALLOW(read),
                                      ALLOW(write),
#ifdef SYS_poll
                                      ALLOW(poll),
#endif
                                      ALLOW(ppoll),      ALLOW(clock_nanosleep),
                                      ALLOW(exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
static struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int server; /* listening: evidence of a loop */

static void tick(int times) {
    for (int i = 0; i < times; i++) {
        struct pollfd p = {.fd = server, .events = POLLIN};
        poll(&p, 1, 50);
    }
}

__attribute__((noinline)) static void busy_callback(void) {
    volatile unsigned spun = 0;
    for (double end = now_ms() + 1200; now_ms() < end;) {
        spun++;
    }
}

__attribute__((noinline)) static void sleeping_callback(void) {
    struct timespec t = {1, 200000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void print_took(const char *what, double ms) {
    char line[64];
    if (write(STDOUT_FILENO, line, (size_t)snprintf(line, sizeof line, "%s %.0f\n", what, ms)) < 0) {
        _exit(9);
    }
}

static int install_and_allow(unsigned call) {
    struct sock_filter more[sizeof filter / sizeof filter[0] + 2] = {
        LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    memcpy(more + 3, filter + 1, sizeof filter - sizeof filter[0]);
    struct sock_fprog of_more = {sizeof more / sizeof more[0], more};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &of_more);
}

/* One that lets the next be asked for, one that is refused, and that next one. */
static int install_twice(void) {
    if (install_and_allow(SYS_prctl) != 0) {
        return -1;
    }
    tick(2);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1 || errno != EFAULT) {
        return -1;
    }
    tick(2);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static bool answer(long call, unsigned answered) {
    struct sock_filter one[] = {LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, answered),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog of_one = {sizeof one / sizeof one[0], one};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &of_one) == 0;
}

static void *install_here(void *unused);

static int install(const char *how) {
    if (strcmp(how, "twice") == 0) {
        return install_twice();
    }
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        return pthread_create(&thread, NULL, install_here, NULL);
    }
    if (strcmp(how, "late") == 0) {
        sleeping_callback();
        tick(20);
    }
    if (strcmp(how, "prctl") == 0 || strcmp(how, "late") == 0) {
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    }
    if (strcmp(how, "prctl-by-number") == 0) {
        return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    }
    unsigned flags = strcmp(how, "tsync") == 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* A thread for what comes from outside. */
static void *install_here(void *unused) {
    if (install("prctl") != 0) {
        _exit(9);
    }
    tick(1000);
    return unused;
}

/* What libraries ask at their start installs nothing. */
static int asks_only(void) {
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) != -1 ||
        errno != EFAULT || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1 || errno != EFAULT) {
        return 1;
    }
    return 0;
}

/* A child with the filter, as servers have for what strangers send them: its exit is its own. */
static int child(const char *how) {
    pid_t pid = fork();
    if (pid == 0) {
        if (install(how) != 0) {
            _exit(8);
        }
        tick(2);
        exit(6);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    print_took("child", status);
    return status == 6 << 8 ? 0 : 1;
}

/* Who may not change who he is has nothing that threads of another's could keep. */
static bool stay_who_we_are(void) {
    struct __user_cap_header_struct own = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    unsigned changing = 1U << CAP_SETUID | 1U << CAP_SETGID;
    if (syscall(SYS_capget, &own, caps) != 0) {
        return false;
    }
    caps[0].permitted &= ~changing;
    caps[0].effective &= ~changing;
    return syscall(SYS_capset, &own, caps) == 0;
}

static void handle(int signal) {
    (void)signal;
}

/* Ends under a filter that allows one call more, when it has made that. */
static int one_call(bool set_ids) {
    struct sigaction on_stack = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    if (install_and_allow(set_ids ? SYS_setresuid : SYS_rt_sigaction) != 0) {
        return 3;
    }
    tick(2);
    int result = set_ids ? setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1) : sigaction(SIGUSR1, &on_stack, NULL);
    tick(2);
    exit(result == 0 ? 7 : 4);
}

static int launch(char **argv) {
    static const struct {
        const char *name;
        long call;
        unsigned answered;
    } kinds[] = {{"deadly", SYS_close_range, SECCOMP_RET_KILL_PROCESS},
                 {"harmless", SYS_acct, SECCOMP_RET_KILL_PROCESS},
                 {"prctl", SYS_prctl, SECCOMP_RET_KILL_PROCESS},
                 {"blind", SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM},
                 {"user", SYS_geteuid, SECCOMP_RET_ERRNO | 1}, /* user -1 */
                 {"old", SYS_close_range, SECCOMP_RET_ERRNO | ENOSYS},
                 {"unaware", SYS_faccessat2, SECCOMP_RET_ERRNO | EPERM},
                 {"refused", SYS_memfd_create, SECCOMP_RET_ERRNO | EPERM},
                 KILLS(socketpair),
                 KILLS(memfd_create),
                 KILLS(eventfd2),
                 KILLS(signalfd4),
                 KILLS(inotify_init1),
                 KILLS(setitimer),
                 KILLS(getxattr),
                 {"denied", SYS_close_range, SECCOMP_RET_ERRNO | ENOSYS}};
    bool denied = strcmp(argv[0], "denied") == 0;
    size_t kind = 0;
    while (kind < sizeof kinds / sizeof kinds[0] && strcmp(argv[0], kinds[kind].name) != 0) {
        kind++;
    }
    if (kind == sizeof kinds / sizeof kinds[0] ||
        (denied && !answer(SYS_unshare, SECCOMP_RET_ERRNO | EPERM)) ||
        !answer(kinds[kind].call, kinds[kind].answered)) {
        return 126;
    }
    execvp(argv[1], argv + 1);
    return 127;
}

/* A filter that ends who asks what he may do, and none, for it is refused. */
static int vforked(bool refused) {
    static struct sock_filter asking[] = {LOAD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_capget, 1, 0),
                                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
                                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    static char *const argv[] = {"true", NULL};
    struct sock_fprog of_them = {refused ? 0 : sizeof asking / sizeof asking[0], asking};
    int status = -1;
    pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
    if (pid == 0) {
        // NOLINTNEXTLINE(clang-analyzer-unix.Vfork): what is tested
        if ((prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &of_them) != 0) != refused) {
            _exit(1);
        }
        execv("/nowhere/true", argv);
        execv("/bin/true", argv);
        _exit(2);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void *work(void *unused) {
    struct timespec t = {0, 700000000};
    prctl(PR_SET_NAME, "worker");
    tick(40);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
    tick(10);
    return unused;
}

static int vfork_and_become(const char *self) {
    pthread_t worker;
    int ended = vforked(true) | vforked(false);
    if (ended != 0 || pthread_create(&worker, NULL, work, NULL) != 0) {
        return ended != 0 ? 4 : 5;
    }
    tick(80);
    pthread_join(worker, NULL);
    execl(self, self, "asks", NULL);
    return 6;
}

static void *do_nothing(void *unused) {
    return unused;
}

static bool join_one(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

int main(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[1], "launch") == 0) {
        return launch(argv + 2);
    }
    const char *how = argc > 1 ? argv[1] : "prctl";
    setvbuf(stdout, NULL, _IONBF, 0);
    server = listening_socket();
    if (server < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return 1;
    }
    bool joined = strcmp(how, "joined-setid") == 0, set_ids = joined || strcmp(how, "setid") == 0;
    if (!set_ids && !stay_who_we_are()) {
        return 1;
    }
    if (joined && !join_one()) {
        return 1;
    }
    tick(8);
    if (set_ids || strcmp(how, "handler") == 0) {
        return one_call(set_ids);
    }
    if (strcmp(how, "becomes") == 0) {
        return answer(SYS_acct, SECCOMP_RET_KILL_PROCESS) ? execv(argv[2], argv + 2) : 3;
    }
    if (strcmp(how, "vfork") == 0) {
        return vfork_and_become(argv[0]);
    }
    if (strcmp(how, "asks") == 0) {
        if (asks_only() != 0) {
            return 2;
        }
    } else if (argc > 2 ? child(how) != 0 : install(how) != 0) {
        return 3;
    }
    tick(60); /* the loop is sure */
    double begin = now_ms();
    busy_callback();
    print_took("busy", now_ms() - begin);
    tick(20);
    begin = now_ms();
    sleeping_callback();
    print_took("sleep", now_ms() - begin);
    tick(20);
    exit(7);
}
