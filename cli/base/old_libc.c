/* SPDX-License-Identifier: MIT
 *
 * The kernel of Ubuntu 20.04 lacks close_range too, so a loop closes the descriptors there.
 */
#include "cli/base/old_libc.h"

#ifdef OLD_LIBC
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define NUMBERS_MAX (1U << 20) /* the kernel's default limit of descriptor numbers (fs.nr_open) */

int old_libc_close_range(unsigned from, unsigned to, int flags) {
    struct rlimit limit;
    if (syscall(SYS_close_range, from, to, flags) == 0) {
        return 0;
    }
    if (flags != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return -1;
    }
    for (unsigned fd = from; fd <= to && fd < limit.rlim_cur && fd < NUMBERS_MAX; fd++) {
        close((int)fd);
    }
    return 0;
}

void old_libc_closefrom(int from) {
    (void)old_libc_close_range((unsigned)from, ~0U, 0);
}

const char *old_libc_sigabbrev_np(int signal) {
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
        [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
        [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
        [SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
        [SIGIO] = "POLL",   [SIGPWR] = "PWR",       [SIGSYS] = "SYS"};
    return signal > 0 && (size_t)signal < sizeof names / sizeof names[0] ? names[signal] : NULL;
}
#endif
