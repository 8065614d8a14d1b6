/* SPDX-License-Identifier: MIT
 *
 * A program with signals of its own, which tells what it sees of them; watched, it must say the same. Its
 * loop polls a pipe; then it hangs in what the first argument names, while it is sampled.
 */

#include <alloca.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "listening.h"

#define DEEP (200u * 1024u)
#define HANG_MS 1500

static int server;
static uintptr_t main_stack;
static volatile sig_atomic_t handled, waiting, while_waiting;

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void loop(int turns) {
    struct pollfd p = {.fd = server, .events = POLLIN};
    for (int i = 0; i < turns; i++) {
        while (poll(&p, 1, 50) != 0) {
        }
    }
}

static void spin(uint64_t ms) {
    for (uint64_t end = now_ms() + ms; now_ms() < end;) {
    }
}

/* ---- what it sees ------------------------------------------------------------------------------ */

static const char *name_of(void (*h)(int)) {
    return h == SIG_DFL ? "default" : h == SIG_IGN ? "ignored" : "some handler";
}

static void print_action(const char *when, int signal) {
    struct sigaction now;
    memset(&now, 0x55, sizeof now);
    int rc = sigaction(signal, NULL, &now);
    printf("%s: %d: %d, %s, flags %x, blocks URG %d\n", when, signal, rc, name_of(now.sa_handler),
           (unsigned)now.sa_flags, sigismember(&now.sa_mask, SIGURG));
}

static void print_stack(const char *when) {
    stack_t now;
    int rc = sigaltstack(NULL, &now);
    printf("%s: alternate stack: %d, %s, %zu\n", when, rc, (now.ss_flags & SS_DISABLE) != 0 ? "none" : "one",
           (now.ss_flags & SS_DISABLE) != 0 ? 0 : now.ss_size);
}

static void deep(int signal) {
    volatile char *room = alloca(DEEP);
    for (size_t i = 0; i < DEEP; i += 512) {
        room[i] = (char)signal;
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    handled = main_stack - here < (8u << 20) ? 1 : 2;
}

static void count(int signal) {
    (void)signal;
    handled++;
    if (waiting) {
        while_waiting++;
    }
}

static void look(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    print_stack("at first");
    print_action("at first", SIGURG);
    printf("signal gave: %s\n", name_of(signal(SIGURG, SIG_DFL)));
    printf("bsd's gave: %s\n", name_of(signal(SIGURG, count)));
    raise(SIGURG);
    printf("handled %d\n", (int)handled);
    struct sigaction before, own = {.sa_handler = count, .sa_flags = SA_NODEFER};
    sigaction(SIGURG, &own, &before);
    printf("before: %s\n", before.sa_handler == count ? "my own" : name_of(before.sa_handler));
    sigaction(SIGURG, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    print_action("ignored", SIGURG);
    sigaction(SIGURG, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    print_action("default again", SIGURG);
    raise(SIGURG);

    /* a handler that wants an alternate stack where there is none has the thread's whole own */
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = deep, .sa_flags = SA_ONSTACK}, &before);
    raise(SIGUSR1);
    printf("a deep handler ran on %s\n", handled == 1 ? "the thread's stack" : "another");
    print_stack("with a handler");
    fflush(stdout);
    if (fork() == 0) {
        print_stack("in a child");
        handled = 0;
        raise(SIGUSR1);
        printf("in a child: on %s\n", handled == 1 ? "the thread's stack" : "another");
        _exit(0);
    }
    wait(NULL);

    static char small[64 * 1024];
    stack_t old, mine = {.ss_sp = small, .ss_size = sizeof small};
    int rc = sigaltstack(&mine, &old);
    printf("mine: %d, instead of %s\n", rc, (old.ss_flags & SS_DISABLE) != 0 ? "none" : "one");
    print_stack("mine");
    rc = sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, &old);
    printf("off: %d, instead of %s\n", rc, old.ss_sp == small ? "mine" : "another");
}

/* ---- hangs ------------------------------------------------------------------------------------- */

/* Ticks at 1 kHz end each wait; nothing else does, and none is lost. Beside others it takes longer. */
static void ticks(int flags, bool masks) {
    struct itimerval each = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
    struct sigaction act = {.sa_handler = count, .sa_flags = flags};
    if (masks) { /* one of ours that comes meanwhile cannot be told from the tick: calls may return early */
        sigfillset(&act.sa_mask);
    }
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    int spurious = 0, lost = 0, wrong = 0;
    for (uint64_t end = now_ms() + HANG_MS; now_ms() < end || handled <= 100;) {
        spin(2);
        int before = handled;
        while_waiting = 0;
        waiting = 1;
        int rc = now_ms() % 2 == 0 ? poll(NULL, 0, 5000) : nanosleep(&(struct timespec){.tv_sec = 5}, NULL);
        waiting = 0;
        wrong += rc != -1 || errno != EINTR;
        spurious += handled == before;
        lost += while_waiting > 8; /* the first ends it; more may come while others run */
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    spurious = masks ? 0 : spurious;
    printf("spurious %d, lost %d, wrong %d\n", spurious, lost, wrong);
}

/* Its own use of the very signal: what it sends it gets, and nothing else. */
static void by_signalfd(void) {
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    int sent = 0, got = 0, others = 0;
    for (uint64_t end = now_ms() + HANG_MS; now_ms() < end;) {
        struct signalfd_siginfo info;
        spin(3);
        kill(getpid(), sent++ % 2 == 0 ? SIGURG : SIGUSR2);
        if (read(fd, &info, sizeof info) == sizeof info) {
            bool own = info.ssi_pid == (uint32_t)getpid() && info.ssi_code == SI_USER;
            got += own;
            others += !own;
        }
    }
    printf("all were mine %d, others %d\n", got == sent, others);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* What sigwait takes is not blocked while it waits: whoever sends must have seen before that it is. */
static void by_sigwait(void) {
    sigset_t set, before;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, &before);
    spin(100);
    int timeouts = 0;
    for (uint64_t end = now_ms() + HANG_MS; now_ms() < end || timeouts <= 10;) {
        siginfo_t info = {0};
        spin(3);
        int got = sigtimedwait(&set, &info, &(struct timespec){.tv_nsec = 2000000});
        timeouts += got < 0 && errno == EAGAIN;
        if (got > 0 || (got < 0 && errno != EAGAIN)) {
            printf("got %d, errno %d, code %d, from %d\n", got, errno, info.si_code, (int)info.si_pid);
        }
    }
    puts("timed out");
    sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(int argc, char **argv) {
    const char *what = argc == 2 ? argv[1] : "look";
    main_stack = (uintptr_t)__builtin_frame_address(0);
    if (strcmp(what, "look") == 0) {
        look();
        return 0;
    }
    if ((server = listening_socket()) < 0) {
        return 1;
    }
    loop(30);
    if (strcmp(what, "ticks") == 0) {
        ticks(0, false);
    } else if (strcmp(what, "ticks-onstack") == 0) {
        ticks(SA_ONSTACK, false);
    } else if (strcmp(what, "ticks-masked") == 0) {
        ticks(SA_ONSTACK, true);
    } else if (strcmp(what, "signalfd") == 0) {
        by_signalfd();
    } else if (strcmp(what, "sigwait") == 0) {
        by_sigwait();
    } else {
        return 2;
    }
    loop(5);
    return 0;
}
