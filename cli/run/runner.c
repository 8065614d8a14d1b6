/* SPDX-License-Identifier: MIT */
#include "cli/run/runner.h"
#include "cli/base/signal_state.h"
#include "cli/settle/record_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "cli/run/inherited_descriptors.h"
#include "os/os.h"

/* True for a signal that a user or a supervisor may send to the runner for the program. Not forwarded:
 * signals that cannot be blocked, and signals about our own children and pipes. A crash or abort() of the
 * runner ends the runner even though its signal is blocked. */
static bool is_forwarded(int signal) {
    static const int kept[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGPIPE};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (signal == kept[i]) {
            return false;
        }
    }
    return true;
}

static int parent_death_signal; /* signal that the kernel sends the runner when the launcher ends; 0: none */

#define TIMERS 3 /* ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF */

int runner_enlarge(int fd, off_t bytes) {
    struct rlimit limit, most;
    bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0;
    if (limited) { /* the user's limit on file size is meant for the program */
        most = (struct rlimit){limit.rlim_max, limit.rlim_max};
        setrlimit(RLIMIT_FSIZE, &most);
    }
    int rc = ftruncate(fd, bytes) == 0 ? 0 : -errno;
    if (limited) {
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    return rc;
}

int runner_prepare(struct runner *r) {
    *r = (struct runner){.run = {.child = -1}};
    sigemptyset(&r->merged);
    inherited_find();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        if (is_forwarded(signal) && (signal < 32 || signal >= SIGRTMIN)) {
            sigaddset(&set, signal);
        }
    }
    /* a closed stderr is no reason to end */
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r->run.record_fd = memfd_create("hangdog", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (r->signal_fd < 0 || r->run.record_fd < 0) {
        return -errno;
    }
    int rc = runner_enlarge(r->run.record_fd, HD_RECORD_FILE_BYTES);
    if (rc != 0 || (rc = reporter_prepare(&r->reports)) != 0) {
        return rc;
    }
    /* The program can reach the file: cut short, it would end us with SIGBUS. */
    (void)fcntl(r->run.record_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    r->run.record = mmap(NULL, HD_RECORD_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->run.record_fd, 0);
    if (r->run.record == MAP_FAILED) {
        return -errno;
    }
    r->run.record->magic = HD_RECORD_MAGIC;
    r->run.record->bytes = sizeof *r->run.record;
    snprintf(r->run.record->options.link, sizeof r->run.record->options.link, "/proc/%d/fd/%d", (int)getpid(),
             r->run.record_fd);
    return 0;
}

/* An alarm that was set before exec is the program's: exec keeps it, fork does not. */
static void take_timers(struct itimerval timers[TIMERS]) {
    for (int i = 0; i < TIMERS; i++) {
        setitimer((enum __itimer_which)i, &(struct itimerval){0}, &timers[i]);
    }
}

static void set_timers(const struct itimerval timers[TIMERS]) {
    for (int i = 0; i < TIMERS; i++) {
        setitimer((enum __itimer_which)i, &timers[i], NULL);
    }
}

/* In the child: sets the launcher's parent-death signal again, which exec keeps and fork does not. Otherwise
 * the program would outlive the launcher if the signal is SIGKILL, which the runner cannot pass on. */
static void end_with(pid_t runner) {
    if (parent_death_signal != 0) {
        prctl(PR_SET_PDEATHSIG, parent_death_signal);
        pid_t parent = getppid();
        if (parent != runner && parent != 0) { /* 0: the parent is in another PID namespace */
            raise(parent_death_signal);        /* the runner, and so the launcher, has already ended */
        }
    }
}

/* In the child: execs the program with the original signal mask, descriptors and environment, plus our two
 * variables. */
static _Noreturn void become(const struct runner *r, pid_t runner, char *const argv[], const char *preload,
                             int status_fd) {
    char number[16];
    fcntl(r->run.record_fd, F_SETFD, 0); /* the child's copy */
    snprintf(number, sizeof number, "%d", r->run.record_fd);
    r->run.record->options.pid = getpid();
    setenv("HANGDOG_LINK", number, 1);
    setenv("LD_PRELOAD", preload, 1);
    signal_state_restore();
    end_with(runner);
    execvp(argv[0], argv);
    int why = errno;
    if (write(status_fd, &why, sizeof why) < 0) {
        _exit(126);
    }
    _exit(127);
}

/* Waits until the child has execed, which may take long on a slow disk. Passes signals on meanwhile. Returns
 * the errno value of a failed exec, else 0. */
static int wait_for_exec(struct runner *r, int status_fd) {
    int why = 0;
    struct pollfd fds[] = {{.fd = status_fd, .events = POLLIN}, {.fd = r->signal_fd, .events = POLLIN}};
    while (fds[0].revents == 0) {
        if (poll(fds, 2, -1) > 0 && fds[1].revents != 0) {
            runner_handle_signals(r);
        }
    }
    return read(status_fd, &why, sizeof why) == sizeof why ? why : 0;
}

/* Valgrind prints each unknown system call to the program's stderr. */
static bool under_valgrind(void) {
    const char *first = getenv("LD_PRELOAD");
    return first != NULL && strstr(first, "/vgpreload_") != NULL;
}

static void start_signal_probe(struct runner *r) {
    bool filtered = r->run.record->options.seccomp_filters != 0; /* a filter may kill us for pidfd_open */
    int program = filtered || under_valgrind() ? -1 : (int)syscall(SYS_pidfd_open, r->run.child, 0);
    signal_probe_start(&r->probe, program);
    if (program >= 0) {
        close(program);
    }
}

void runner_stop_sharing(struct runner *r) {
    struct hd_record *copy = r->reports.shared->record;
    for (unsigned i = 0; i < HD_RECORDS; i++) {
        record_copy(&copy[i], &r->run.record[i], &r->decided, i == 0);
    }
    r->run.record = copy;
}

int runner_start(struct runner *r, char *const argv[], const char *preload, bool *tried) {
    int status[2];
    *tried = false;
    if (pipe2(status, O_CLOEXEC) != 0) {
        return -errno;
    }
    r->run.record->options.started_ns = hd_os_now_ns();
    r->run.record->options.started_wall_ns = hd_os_wall_ns();
    r->decided = r->run.record->options;
    struct itimerval timers[TIMERS];
    take_timers(timers);
    if (r->run.record->options.seccomp_filters >= 0) { /* else the call may be our end */
        prctl(PR_GET_PDEATHSIG, &parent_death_signal);
    }
    pid_t runner = getpid();
    r->run.child = fork();
    *tried = r->run.child >= 0;
    if (r->run.child == 0) {
        set_timers(timers);
        become(r, runner, argv, preload, status[1]);
    } else if (r->run.child < 0) {
        set_timers(timers);
    }
    int rc = r->run.child < 0 ? -errno : 0;
    close(status[1]);
    if (rc == 0 && (rc = -wait_for_exec(r, status[0])) != 0) {
        waitpid(r->run.child, NULL, 0);
    }
    close(status[0]);
    if (rc == 0) {
        inherited_close();
    }
    if (rc == 0 && !r->ended) {
        start_signal_probe(r);
    }
    return rc;
}
