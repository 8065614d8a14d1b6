/* SPDX-License-Identifier: MIT
 *
 * A thread called `worker` that waits for a second, and ends. `thread-ends WAY`: `plainly`; `alone`, after
 * the main thread has asked for what a process with two threads may not have; `filtered`, under a filter of
 * its own that ends the program for touching the alternate stack and for asking who it is. Tells what the
 * thread leaves behind. `exits`: under that filter the thread, which has no name, ends the program; `heir`: a
 * thread that it makes there does.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "listening.h"

static int fds[2];
static const char *way;
static sem_t has_ticked, may_end;
static pthread_key_t at_exit;

static void tick(int times) {
    for (int i = 0; i < times; i++) {
        struct pollfd p = {.fd = fds[0], .events = POLLIN};
        poll(&p, 1, 50);
    }
}

static int install_filter(void) {
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 1, 0),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ? -1
                                                       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The key is younger than any of a library that was there before main. */
static void print_end(void *unused) {
    stack_t now;
    (void)unused;
    if (strcmp(way, "filtered") != 0 && sigaltstack(NULL, &now) == 0) {
        printf("%s\n", (now.ss_flags & SS_DISABLE) != 0 ? "no alternate stack" : "an alternate stack");
    }
}

static void *end_program(void *unused) {
    (void)unused;
    exit(7);
}

static void *work(void *unused) {
    pthread_t heir;
    bool filtered = strcmp(way, "filtered") == 0, has_heir = strcmp(way, "heir") == 0;
    bool exits = has_heir || strcmp(way, "exits") == 0;
    if (!exits) {
        prctl(PR_SET_NAME, "worker");
    }
    pthread_setspecific(at_exit, &at_exit);
    tick(20);
    sem_post(&has_ticked);
    sem_wait(&may_end);
    if ((filtered || exits) && install_filter() != 0) {
        printf("no filter\n");
    }
    if (has_heir && pthread_create(&heir, NULL, end_program, NULL) == 0) {
        pthread_join(heir, NULL);
    }
    if (exits) {
        exit(7);
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    way = argc > 1 ? argv[1] : "plainly";
    if ((fds[0] = listening_socket()) < 0 || sem_init(&has_ticked, 0, 0) != 0 ||
        sem_init(&may_end, 0, 0) != 0 || pthread_key_create(&at_exit, print_end) != 0) {
        return 1;
    }
    tick(2);
    if (pthread_create(&thread, NULL, work, NULL) != 0) {
        return 1;
    }
    sem_wait(&has_ticked);
    if (strcmp(way, "alone") == 0) {
        int result = unshare(CLONE_NEWUSER);
        printf("%d %d\n", result, errno);
    }
    sem_post(&may_end);
    pthread_join(thread, NULL);
    tick(2);
    return 7;
}
