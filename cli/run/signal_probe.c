/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: the process that gets the signals of our process group.
 */
#include "cli/run/signal_probe.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/proc.h"
#include "os/os.h"

#define LATER_NS 10000000L /* who signals one process after the other comes to it by then */
#define ANSWER_MS 100      /* it may be stopped */

/* Nothing stays open but these two: pipes end when those who use them do. */
static void keep_open(int talk, int program) {
    dup2(talk, STDIN_FILENO);
    if (program >= 0) {
        dup2(program, STDOUT_FILENO);
    }
    closefrom(program >= 0 ? STDERR_FILENO : STDOUT_FILENO);
}

static _Noreturn void stand_by(int talk, int program, _Atomic uint64_t *ended_ns) {
    sigset_t set;
    prctl(PR_SET_NAME, "hangdog-witness");
    keep_open(talk, program);
    struct pollfd fds[] = {{.fd = program >= 0 ? STDOUT_FILENO : -1, .events = POLLIN},
                           {.fd = STDIN_FILENO, .events = POLLIN}};
    while (poll(fds, 2, -1) > 0) {
        if (fds[0].revents != 0) {
            atomic_store(ended_ns, hd_os_now_ns());
            fds[0].fd = -1;
        }
        if (fds[1].revents == 0) {
            continue;
        }
        if (read(STDIN_FILENO, &set, sizeof set) != sizeof set) {
            break;
        }
        while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0) {
        }
        if (write(STDIN_FILENO, "", 1) != 1) {
            break;
        }
    }
    _exit(0);
}

void witness_start(struct witness *w, int program) {
    int pair[2];
    sigset_t all, before;
    *w = (struct witness){.talk = -1};
    if (!proc_is_ours() || /* it could not be asked what is pending there */
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return;
    }
    void *page = mmap(NULL, sizeof *w->ended_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    w->ended_ns = page != MAP_FAILED ? page : NULL;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    w->pid = fork();
    if (w->pid == 0) {
        close(pair[0]);
        stand_by(pair[1], w->ended_ns != NULL ? program : -1, w->ended_ns);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(pair[1]);
    w->talk = pair[0];
    w->pid = w->pid < 0 ? 0 : w->pid;
}

uint64_t witness_saw_end(const struct witness *w) {
    return w->ended_ns != NULL ? atomic_load(w->ended_ns) : 0;
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
