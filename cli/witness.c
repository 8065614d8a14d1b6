/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: the process that gets the signals of our process group.
 */
#include "cli/witness.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/proc_of.h"

#define LATER_NS 10000000L /* who signals one process after the other comes to it by then */
#define ANSWER_MS 100      /* it may be stopped */

static _Noreturn void stand_by(int talk) {
    sigset_t set;
    prctl(PR_SET_NAME, "hangdog-witness");
    dup2(talk, STDIN_FILENO); /* nothing else stays open: pipes end when those who use them do */
    closefrom(STDIN_FILENO + 1);
    while (read(STDIN_FILENO, &set, sizeof set) == sizeof set) {
        while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0) {
        }
        if (write(STDIN_FILENO, "", 1) != 1) {
            break;
        }
    }
    _exit(0);
}

void witness_start(struct witness *w) {
    int pair[2];
    sigset_t all, before;
    *w = (struct witness){.talk = -1};
    if (!proc_is_ours() || /* it could not be asked what is pending there */
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    w->pid = fork();
    if (w->pid == 0) {
        close(pair[0]);
        stand_by(pair[1]);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(pair[1]);
    w->talk = pair[0];
    w->pid = w->pid < 0 ? 0 : w->pid;
}

static bool is_pending(pid_t pid, int signal) {
    return (proc_number(pid, "ShdPnd:", 16) >> (signal - 1) & 1) != 0;
}

bool witness_has(const struct witness *w, int signal) {
    if (w->pid == 0 || is_pending(w->pid, signal)) {
        return w->pid != 0;
    }
    nanosleep(&(struct timespec){.tv_nsec = LATER_NS}, NULL);
    return is_pending(w->pid, signal);
}

void witness_forget(const struct witness *w, const sigset_t *set) {
    struct pollfd answer = {.fd = w->talk, .events = POLLIN};
    char byte;
    while (w->pid != 0 && recv(w->talk, &byte, 1, MSG_DONTWAIT) == 1) {
    } /* an answer that came too late is not this one's */
    if (w->pid != 0 && send(w->talk, set, sizeof *set, MSG_NOSIGNAL) == sizeof *set &&
        poll(&answer, 1, ANSWER_MS) == 1) {
        (void)(recv(w->talk, &byte, 1, 0) == 1);
    }
}

void witness_end(struct witness *w) {
    if (w->pid != 0) {
        kill(w->pid, SIGKILL);
        waitpid(w->pid, NULL, 0);
        close(w->talk);
        w->pid = 0;
    }
}
