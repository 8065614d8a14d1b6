/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: the process that looks up names, and how it is asked.
 */
#include "cli/reporter/reporter_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/memory_limit.h"

#define LATE_S 1
#define END_MS_MAX 100 /* at a sick disk it may be there for ever */

static bool send_whole(int fd, const void *bytes, size_t count) {
    for (const char *at = bytes; count > 0;) {
        ssize_t n = send(fd, at, count, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* `late`: what is done each time that nothing came for LATE_S. */
static bool receive_whole(int fd, void *bytes, size_t count, void (*late)(struct names_process *),
                          struct names_process *of) {
    for (char *at = bytes; count > 0;) {
        ssize_t n = recv(fd, at, count, 0);
        if (n < 0 && errno == EAGAIN && late != NULL) {
            late(of);
        } else if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        at += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- in it ------------------------------------------------------------------------------------ */

/* Where memory is short it goes before all others; and the program's core file is the one that is wanted. */
static void be_dispensable(void) {
    struct rlimit none = {1, 1}; /* less than any: neither a file, nor what a program that takes them gets */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)(write(fd, "1000", 4) == 4);
        close(fd);
    }
    setrlimit(RLIMIT_CORE, &none);
}

/* Signals of the group's are the program's; where they stayed blocked they would be queued for good. */
static void be_deaf(void) {
    static const int faults[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGCHLD};
    sigset_t none;
    for (int signal_number = 1; signal_number <= SIGRTMAX; signal_number++) {
        (void)signal(signal_number, SIG_IGN); /* not all can be */
    }
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)signal(faults[i], SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Nothing else stays open: pipes end when those who use them do. What libdw says when it ends us is told in
 * our own words. */
static void keep_only(int talk) {
    dup2(talk, STDIN_FILENO);
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    closefrom(nowhere >= 0 ? STDERR_FILENO + 1 : STDOUT_FILENO);
}

bool names_next(void *question, size_t bytes) {
    bool there_is = receive_whole(STDIN_FILENO, question, bytes, NULL, NULL);
    memory_keep_to_room(); /* the program's use of it grows */
    return there_is;
}

void names_answer(const char *text, size_t bytes) {
    if (!send_whole(STDIN_FILENO, &bytes, sizeof bytes) || !send_whole(STDIN_FILENO, text, bytes)) {
        _exit(0); /* nobody waits for it */
    }
}

/* ---- in the runner ---------------------------------------------------------------------------- */

/* It does not matter which of the two threads waits for it. */
static bool is_gone(struct names_process *n, int how) {
    int status;
    if (!atomic_load(&n->gone) && waitpid(n->pid, &status, how) == n->pid) {
        atomic_store(&n->status, status);
        atomic_store(&n->gone, true);
    }
    return atomic_load(&n->gone);
}

/* Its number may be another process's once it was waited for. */
static void end_it(struct names_process *n) {
    if (!is_gone(n, WNOHANG)) {
        kill(n->pid, SIGKILL);
    }
}

/* It was stopped with the runner, and that alone was told to go on. */
static void go_on(struct names_process *n) {
    if (!atomic_load(&n->gone)) {
        kill(n->pid, SIGCONT);
    }
}

bool names_reap(struct names_process *n, const siginfo_t *gone) {
    if (n->pid <= 0 || gone->si_pid != n->pid) {
        return false;
    }
    /* told before it is done: the other thread may find that there is no such child */
    atomic_store(&n->status, gone->si_code == CLD_EXITED ? gone->si_status << 8 : gone->si_status);
    atomic_store(&n->gone, true);
    waitpid(n->pid, NULL, 0);
    return true;
}

void names_start(struct names_process *n, void (*serve)(void *), void *argument) {
    int pair[2];
    if (n->pid > 0 && !is_gone(n, WNOHANG)) {
        return;
    }
    if (n->pid > 0) {
        close(n->talk);
    }
    n->pid = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        n->error = errno;
        return;
    }
    pid_t runner = getpid();
    n->pid = fork();
    if (n->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "hangdog-names");
        be_dispensable();
        be_deaf();
        keep_only(pair[1]);
        if (getppid() == runner) {
            on_a_deep_stack(serve, argument);
        }
        _exit(0);
    }
    n->error = errno;
    close(pair[1]);
    n->talk = pair[0];
    setsockopt(n->talk, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = LATE_S}, sizeof(struct timeval));
    atomic_store(&n->gone, false);
    if (n->pid < 0) {
        close(n->talk);
    }
}

static void say_why(struct names_process *n, char why[NAMES_WHY_BYTES]) {
    int status = is_gone(n, 0) ? atomic_load(&n->status) : 0;
    const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
    if (WIFSIGNALED(status)) {
        snprintf(why, NAMES_WHY_BYTES, "the process that does was ended by SIG%s%s",
                 name != NULL ? name : "?",
                 WTERMSIG(status) == SIGKILL ? ", as the kernel does where memory is short" : "");
    } else {
        snprintf(why, NAMES_WHY_BYTES, "%s", strerror(ENOMEM));
    }
}

char *names_ask(struct names_process *n, const void *question, size_t bytes, size_t *text_bytes,
                char why[NAMES_WHY_BYTES]) {
    if (n->pid <= 0) {
        snprintf(why, NAMES_WHY_BYTES, "no process for it: %s", strerror(n->error));
        return NULL;
    }
    char *text = NULL;
    if (!atomic_load(&n->gone) && send_whole(n->talk, question, bytes) &&
        receive_whole(n->talk, text_bytes, sizeof *text_bytes, go_on, n)) {
        text = malloc(*text_bytes + 1);
        if (text == NULL) {
            end_it(n); /* what it still says would be taken for the next answer */
            snprintf(why, NAMES_WHY_BYTES, "%s", strerror(ENOMEM));
            return NULL;
        }
        if (receive_whole(n->talk, text, *text_bytes, go_on, n)) {
            return text;
        }
    }
    free(text);
    say_why(n, why);
    return NULL;
}

bool names_were_killed(const struct names_process *n) {
    return atomic_load(&n->gone) && WIFSIGNALED(atomic_load(&n->status));
}

void names_end(struct names_process *n) {
    if (n->pid > 0) {
        end_it(n);
        for (unsigned ms = 0; ms < END_MS_MAX && !is_gone(n, WNOHANG); ms++) {
            usleep(1000);
        }
        close(n->talk);
    }
}
