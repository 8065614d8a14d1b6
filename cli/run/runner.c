/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: process control of the runner.
 */
#include "cli/run/runner.h"
#include "cli/base/output.h"
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

/* Everything that a person or a supervisor may send to the program by sending it to us: all but what cannot
 * be blocked and what tells of our own children and pipes. A fault of our own ends us also where its signal
 * is blocked, and so does abort(). */
static bool is_forwarded(int signal) {
    static const int kept[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGPIPE};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (signal == kept[i]) {
            return false;
        }
    }
    return true;
}

static int parent_death_signal; /* the signal that we are to be sent when who launched us ends; 0: none */

#define TIMERS 3 /* ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF */

int runner_enlarge(int fd, off_t bytes) {
    struct rlimit limit, most;
    bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0;
    if (limited) { /* what the user may have, he may not have meant for this */
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
    inherited_note();
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
    if (rc != 0) {
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

/* In the child. What a launcher asked for exec keeps as well, and fork does not: the program would outlive
 * him where it is SIGKILL, of which we can pass on nothing. */
static void end_with(pid_t runner) {
    if (parent_death_signal != 0) {
        prctl(PR_SET_PDEATHSIG, parent_death_signal);
        pid_t parent = getppid();
        if (parent != runner && parent != 0) { /* 0: a namespace of processes lies between */
            raise(parent_death_signal);        /* he has ended before, and so have we */
        }
    }
}

/* In the child. Only what the program would have had: mask, descriptors, environment, but for our two
 * variables. */
static _Noreturn void become(const struct runner *r, pid_t runner, char *const argv[], const char *preload,
                             int tell_fd) {
    char number[16];
    fcntl(r->run.record_fd, F_SETFD, 0); /* of the child alone */
    snprintf(number, sizeof number, "%d", r->run.record_fd);
    r->run.record->options.pid = getpid();
    setenv("HANGDOG_LINK", number, 1);
    setenv("LD_PRELOAD", preload, 1);
    signal_state_restore();
    end_with(runner);
    execvp(argv[0], argv);
    int why = errno;
    if (write(tell_fd, &why, sizeof why) < 0) {
        _exit(126);
    }
    _exit(127);
}

/* Until exec, which may take as long as a disk does: signals are passed on, and a stop is seen. The errno
 * value of one that failed, else 0. */
static int wait_for_exec(struct runner *r, int tell_fd) {
    int why = 0;
    struct pollfd fds[] = {{.fd = tell_fd, .events = POLLIN}, {.fd = r->signal_fd, .events = POLLIN}};
    while (fds[0].revents == 0) {
        if (poll(fds, 2, -1) > 0 && fds[1].revents != 0) {
            runner_handle_signals(r);
        }
    }
    return read(tell_fd, &why, sizeof why) == sizeof why ? why : 0;
}

/* Which tells of each call that it does not know, and among the program's errors. */
static bool under_valgrind(void) {
    const char *first = getenv("LD_PRELOAD");
    return first != NULL && strstr(first, "/vgpreload_") != NULL;
}

static void start_witness(struct runner *r) {
    bool filtered = r->run.record->options.seccomp_filters != 0; /* the call may be our end */
    int program = filtered || under_valgrind() ? -1 : (int)syscall(SYS_pidfd_open, r->run.child, 0);
    witness_start(&r->witness, program);
    if (program >= 0) {
        close(program);
    }
}

bool runner_stop_sharing(struct runner *r) {
    static struct hd_record none[HD_RECORDS];
    struct hd_record *copy = malloc(HD_RECORDS * sizeof *copy);
    for (unsigned i = 0; copy != NULL && i < HD_RECORDS; i++) {
        record_copy(&copy[i], &r->run.record[i], &r->decided, i == 0);
    }
    none[0].options = r->decided;
    r->run.record = copy != NULL ? copy : none;
    return copy != NULL;
}

int runner_start(struct runner *r, char *const argv[], const char *preload, bool *tried) {
    int tell[2];
    *tried = false;
    if (pipe2(tell, O_CLOEXEC) != 0) {
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
        become(r, runner, argv, preload, tell[1]);
    } else if (r->run.child < 0) {
        set_timers(timers);
    }
    int rc = r->run.child < 0 ? -errno : 0;
    close(tell[1]);
    if (rc == 0 && (rc = -wait_for_exec(r, tell[0])) != 0) {
        waitpid(r->run.child, NULL, 0);
    }
    close(tell[0]);
    if (rc == 0) {
        inherited_let_go();
    }
    if (rc == 0 && !r->ended) {
        start_witness(r);
    }
    return rc;
}

/* ---- while it runs -------------------------------------------------------------------------- */

/* That of the program's image which runs; one that has none yet has the first. */
static struct hd_record *record_of_image(const struct runner *r) {
    for (unsigned i = 1; i < HD_RECORDS; i++) {
        struct hd_record *c = &r->run.record[i];
        if (atomic_load(&c->owner) == (uint32_t)r->run.child && !c->options.of_child &&
            atomic_load(&c->superseded_ns) == 0) {
            return c;
        }
    }
    return r->run.record;
}

static void note_continued(struct runner *r, uint64_t now_ns) {
    if (r->stopped_at_ns != 0 && r->stopped_at_ns < now_ns) {
        atomic_fetch_add(&record_of_image(r)->stopped_ns, now_ns - r->stopped_at_ns);
    }
    r->stopped_at_ns = 0;
}

/* It may be long ago: we were stopped, and the program not. */
static uint64_t end_of_program(const struct runner *r) {
    uint64_t now_ns = hd_os_now_ns(), seen_ns = witness_saw_end(&r->witness);
    return seen_ns != 0 && seen_ns < now_ns ? seen_ns : now_ns;
}

/* A shell that looks after our process group is at the terminal. */
static bool in_foreground(void) {
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool ours = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
    if (terminal >= 0) {
        close(terminal);
    }
    return ours;
}

/* The shell must see us stop when the program was stopped from the terminal; with SIGCONT both go on. Not so
 * when somebody stopped the program alone: he would let it alone go on. */
static void stop_alike(const struct runner *r, int signal) {
    sigset_t set, before;
    bool terminals =
        signal == SIGTTIN || signal == SIGTTOU || (signal == SIGTSTP && (r->told_to_stop || in_foreground()));
    if (!terminals) {
        return;
    }
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set, &before); /* here we stop, unless nobody could let us go on */
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void reap(struct runner *r, bool alike) {
    int status;
    while (!r->ended && waitpid(r->run.child, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
        if (WIFSTOPPED(status)) {
            r->stopped_at_ns = hd_os_now_ns();
            if (alike) {
                stop_alike(r, WSTOPSIG(status));
            }
        } else if (WIFCONTINUED(status)) {
            note_continued(r, hd_os_now_ns());
        } else {
            r->ended = true;
            say_in_haste();
            r->run.ended_ns = end_of_program(r);
            note_continued(r, r->run.ended_ns);
            r->run.status = status;
        }
    }
}

/* As the first process of a container, and where somebody made us a reaper, we are given every process whose
 * parent has gone, and whoever is in that place without us waits for them. The command of --on-hang may be
 * among them: who asks for it is told that it is gone. */
static void reap_others(struct runner *r) {
    siginfo_t gone = {0};
    while (!r->ended && waitid(P_ALL, 0, &gone, WEXITED | WNOHANG | WNOWAIT) == 0 && gone.si_pid != 0 &&
           gone.si_pid != r->run.child) {
        if (gone.si_pid == r->witness.pid) {
            witness_end(&r->witness); /* somebody killed it */
        } else if (!names_reap(&r->names, &gone)) {
            waitpid(gone.si_pid, NULL, 0);
        }
        gone.si_pid = 0;
    }
}

/* A stop is told when the last thread of the program has come to it; the first one shows it before. */
static bool is_stopping(pid_t child) {
    char text[PROC_STAT_BYTES];
    const char *state = proc_is_ours() ? proc_field(child, PROC_STATE, text) : NULL;
    return state != NULL && *state == 'T';
}

/* Whether it is not to be passed on. The program got it too: from the terminal, as one of a group, or because
 * it sent it. Or it is for us: we are over a limit. */
static bool programs_own(const struct runner *r, const struct signalfd_siginfo *info) {
    int signal = (int)info->ssi_signo;
    if (info->ssi_code == SI_KERNEL && (signal == SIGXCPU || signal == SIGXFSZ || r->witness.pid == 0)) {
        return true; /* without a witness: most of what the kernel sends is for the group */
    }
    if (info->ssi_code > 0 && signal == SIGBUS) {
        return true; /* memory of ours has failed */
    }
    return (info->ssi_code != SI_KERNEL && (pid_t)info->ssi_pid == r->run.child) ||
           sigismember(&r->merged, signal) == 1 || witness_has(&r->witness, signal);
}

/* What came again meanwhile, and the witness may have forgotten as well: one with the one before it, as the
 * kernel does it where a signal is pending. */
static void forget(struct runner *r, const sigset_t *seen) {
    sigset_t pending;
    witness_forget(&r->witness, seen);
    sigpending(&pending);
    sigandset(&r->merged, &pending, seen);
}

static void pass_on(const struct runner *r, const struct signalfd_siginfo *info) {
    int signal = (int)info->ssi_signo;
    if (info->ssi_code == SI_QUEUE) {
        sigqueue(r->run.child, signal, (union sigval){.sival_ptr = (void *)(uintptr_t)info->ssi_ptr});
    } else {
        kill(r->run.child, signal);
    }
}

void runner_handle_signals(struct runner *r) {
    struct signalfd_siginfo info;
    sigset_t seen;
    if (r->ended) {
        return; /* what comes now is for us: runner_asked_to_end */
    }
    sigemptyset(&seen);
    while (read(r->signal_fd, &info, sizeof info) == sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD) {
            continue; /* reaped below: signals of one kind merge */
        }
        sigaddset(&seen, signal);
        r->told_to_stop = signal == SIGTSTP || (signal != SIGCONT && r->told_to_stop);
        if (signal == SIGCONT) {
            reap(r, false); /* its stop may be as new as this, after which we do not stop */
        }
        bool for_it = signal != SIGCONT || r->stopped_at_ns != 0 || is_stopping(r->run.child);
        if (!programs_own(r, &info) && for_it) {
            pass_on(r, &info);
        }
    }
    if (!sigisemptyset(&seen)) {
        forget(r, &seen);
    }
    reap(r, true);
    reap_others(r);
    if (r->ended) {
        witness_end(&r->witness);
    }
}

bool runner_asked_to_end(struct runner *r) {
    struct signalfd_siginfo info;
    while (read(r->signal_fd, &info, sizeof info) == sizeof info) {
        r->asked_to_end |= info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM ||
                           info.ssi_signo == SIGHUP || info.ssi_signo == SIGQUIT;
    }
    return r->asked_to_end;
}

/* By the signal that ended the program. */
static _Noreturn void end_by(int signal) {
    struct rlimit none = {0, 0}; /* the program's core file is the one that is wanted */
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0); /* where a program takes core files the limit says nothing */
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigaction(signal, &act, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signal);
    _exit(128 + signal);
}

_Noreturn void runner_end_alike(int status) {
    if (!WIFSIGNALED(status)) {
        exit(WEXITSTATUS(status));
    }
    fflush(NULL);
    end_by(WTERMSIG(status));
}

_Noreturn void runner_end_at_once(int status) {
    if (!WIFSIGNALED(status)) {
        _exit(WEXITSTATUS(status));
    }
    end_by(WTERMSIG(status));
}
