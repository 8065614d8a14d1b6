/* SPDX-License-Identifier: MIT */
#include "cli/run/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "os/os.h"

/* The record of the program's present image; the first record until the image has taken one. */
static struct hd_record *record_of_image(const struct runner *r) {
    for (unsigned i = 1; i < HD_RECORDS; i++) {
        struct hd_record *c = &r->run.record[i];
        if (atomic_load(&c->owner.pid) == (uint32_t)r->run.child && !c->options.of_child &&
            atomic_load(&c->owner.superseded_ns) == 0) {
            return c;
        }
    }
    return r->run.record;
}

static void note_continued(struct runner *r, uint64_t now_ns) {
    if (r->stopped_at_ns != 0 && r->stopped_at_ns < now_ns) {
        atomic_fetch_add(&record_of_image(r)->runner.stopped_ns, now_ns - r->stopped_at_ns);
    }
    r->stopped_at_ns = 0;
}

/* The program may have ended long ago, while only the runner was stopped. */
static uint64_t end_of_program(const struct runner *r) {
    uint64_t now_ns = hd_os_now_ns(), seen_ns = signal_probe_saw_end(&r->probe);
    return seen_ns != 0 && seen_ns < now_ns ? seen_ns : now_ns;
}

/* True: our process group is in the foreground of a terminal, under a shell with job control. */
static bool in_foreground(void) {
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool ours = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
    if (terminal >= 0) {
        close(terminal);
    }
    return ours;
}

/* Stops the runner too if the terminal stopped the program, since the shell must see the stop. SIGCONT then
 * continues both. If another process stopped only the program, it will continue only the program: the runner
 * must not stop. */
static void stop_alike(const struct runner *r, int signal) {
    sigset_t set, before;
    bool terminals = signal == SIGTTIN || signal == SIGTTOU ||
                     (signal == SIGTSTP && (r->stop_received || in_foreground()));
    if (!terminals) {
        return;
    }
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set,
                &before); /* stops here; the kernel ignores the stop in an orphaned process group */
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
            atomic_store(&r->reports.printer.shared->output.in_haste, true);
            r->run.ended_ns = end_of_program(r);
            note_continued(r, r->run.ended_ns);
            r->run.status = status;
        }
    }
}

/* As init of a container, or as a subreaper, the runner inherits orphaned processes. It must call wait for
 * them, as any init does. */
static void reap_others(struct runner *r) {
    siginfo_t gone = {0};
    while (!r->ended && waitid(P_ALL, 0, &gone, WEXITED | WNOHANG | WNOWAIT) == 0 && gone.si_pid != 0 &&
           gone.si_pid != r->run.child) {
        if (gone.si_pid == r->probe.pid) {
            signal_probe_end(&r->probe); /* another process killed it */
        } else if (!reporter_reap(&r->reporter, gone.si_pid)) {
            waitpid(gone.si_pid, NULL, 0);
        }
        gone.si_pid = 0;
    }
}

/* waitpid reports a stop after the last thread has stopped. /proc shows the stop of the main thread earlier.
 */
static bool is_stopping(pid_t child) {
    return proc_is_ours() && proc_stat(child).state == 'T';
}

/* True: must not be passed on. The program got the signal too, from the terminal or as a member of the group,
 * or has sent it. Or the signal is meant for the runner, which exceeded a limit. */
static bool programs_own(const struct runner *r, const struct signalfd_siginfo *info) {
    int signal = (int)info->ssi_signo;
    if (info->ssi_code == SI_KERNEL && (signal == SIGXCPU || signal == SIGXFSZ || r->probe.pid == 0)) {
        return true; /* without a signal probe: assume the group, which is usual for the kernel's signals */
    }
    if (info->ssi_code > 0 && signal == SIGBUS) {
        return true; /* a fault in the runner's memory */
    }
    return (info->ssi_code != SI_KERNEL && (pid_t)info->ssi_pid == r->run.child) ||
           sigismember(&r->merged, signal) == 1 || signal_probe_has(&r->probe, signal);
}

/* Clears handled signals in the probe, and remembers those that are pending again. The probe may have lost
 * the second one, so it counts as merged with the first, as the kernel merges pending signals. */
static void forget(struct runner *r, const sigset_t *seen) {
    sigset_t pending;
    signal_probe_forget(&r->probe, seen);
    sigpending(&pending);
    sigandset(&r->merged, &pending, seen);
}

static void pass_on(const struct runner *r, const struct signalfd_siginfo *info) {
    int signal = (int)info->ssi_signo;
    if (signal == SIGTERM) { /* stored before the signal arrives: the program's next turn ends the program */
        atomic_store(&record_of_image(r)->runner.quits, 1);
    }
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
        return; /* signals after the program's end are for the runner: runner_end_requested */
    }
    sigemptyset(&seen);
    while (read(r->signal_fd, &info, sizeof info) == sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGCHLD) {
            continue; /* reaped below: signals of one kind merge */
        }
        sigaddset(&seen, signal);
        r->stop_received = signal == SIGTSTP || (signal != SIGCONT && r->stop_received);
        if (signal == SIGCONT) {
            reporter_continue(&r->reporter);
            reap(r,
                 false); /* the program's stop may be as recent; the runner must not stop after a SIGCONT */
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
        signal_probe_end(&r->probe);
    }
}

bool runner_end_requested(struct runner *r) {
    struct signalfd_siginfo info;
    while (read(r->signal_fd, &info, sizeof info) == sizeof info) {
        r->end_requested |= info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM ||
                            info.ssi_signo == SIGHUP || info.ssi_signo == SIGQUIT;
    }
    return r->end_requested;
}
