/* SPDX-License-Identifier: MIT */
#include "cli/run/signal_probe.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/old_libc.h"
#include "cli/base/proc.h"
#include "os/os.h"

#define LATER_NS \
    10000000L         /* a sender that signals one process after the other has reached the probe by then */
#define ANSWER_MS 100 /* longest wait for a reply: the probe may be stopped */

/* Closes all but these two descriptors: the probe must not keep pipes of the program open. */
static void keep_open(int talk, int program) {
    dup2(talk, STDIN_FILENO);
    if (program >= 0) {
        dup2(program, STDOUT_FILENO);
    }
    closefrom(program >= 0 ? STDERR_FILENO : STDOUT_FILENO);
}

static _Noreturn void stand_by(int talk, int program, _Atomic uint64_t *ended_ns) {
    sigset_t set;
    prctl(PR_SET_NAME, "hangdog-probe");
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

void signal_probe_start(struct signal_probe *p, int program) {
    int pair[2];
    sigset_t all, before;
    *p = (struct signal_probe){.talk = -1};
    if (!proc_is_ours() || /* without /proc the probe's pending signals are not known */
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return;
    }
    void *page = mmap(NULL, sizeof *p->ended_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p->ended_ns = page != MAP_FAILED ? page : NULL;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    p->pid = fork();
    if (p->pid == 0) {
        close(pair[0]);
        stand_by(pair[1], p->ended_ns != NULL ? program : -1, p->ended_ns);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(pair[1]);
    p->talk = pair[0];
    p->pid = p->pid < 0 ? 0 : p->pid;
}

uint64_t signal_probe_saw_end(const struct signal_probe *p) {
    return p->ended_ns != NULL ? atomic_load(p->ended_ns) : 0;
}

static bool is_pending(pid_t pid, int signal) {
    return (proc_number(pid, "ShdPnd:", 16) >> (signal - 1) & 1) != 0;
}

bool signal_probe_has(const struct signal_probe *p, int signal) {
    if (p->pid == 0 || is_pending(p->pid, signal)) {
        return p->pid != 0;
    }
    nanosleep(&(struct timespec){.tv_nsec = LATER_NS}, NULL);
    return is_pending(p->pid, signal);
}

void signal_probe_forget(const struct signal_probe *p, const sigset_t *set) {
    struct pollfd answer = {.fd = p->talk, .events = POLLIN};
    char byte;
    while (p->pid != 0 && recv(p->talk, &byte, 1, MSG_DONTWAIT) == 1) {
    } /* drop a late reply to an earlier request */
    if (p->pid != 0 && send(p->talk, set, sizeof *set, MSG_NOSIGNAL) == sizeof *set &&
        poll(&answer, 1, ANSWER_MS) == 1) {
        (void)(recv(p->talk, &byte, 1, 0) == 1);
    }
}

void signal_probe_end(struct signal_probe *p) {
    if (p->pid != 0) {
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
        close(p->talk);
        p->pid = 0;
    }
}
