/* SPDX-License-Identifier: MIT
 *
 * Twenty-three kinds of waiting, each for a long time: a call that returns early was interrupted.
 */
#ifndef HD_LONG_WAITS_H
#define HD_LONG_WAITS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONG_S 1000

static int sem_id, msg_id, lock_fds[2], sockets[4], pipe_fds[2], listening, event;
static pid_t child;
static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER,
                       of_cond[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t conds[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static sem_t sems[2];

static inline struct timespec in_long_time(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += LONG_S;
    return t;
}

static const struct timespec long_time = {LONG_S, 0};

static inline long do_poll(void) {
    return poll(NULL, 0, LONG_S * 1000);
}
static inline long do_ppoll(void) {
    return ppoll(NULL, 0, &long_time, NULL);
}
static inline long do_epoll_wait(void) {
    struct epoll_event e;
    return epoll_wait(epoll_create1(EPOLL_CLOEXEC), &e, 1, LONG_S * 1000);
}
static inline long do_select(void) {
    struct timeval t = {LONG_S, 0};
    return select(0, NULL, NULL, NULL, &t);
}
static inline long do_nanosleep(void) {
    return nanosleep(&long_time, NULL);
}
static inline long do_clock_nanosleep(void) {
    struct timespec t = in_long_time(CLOCK_MONOTONIC);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}
static inline long do_sleep(void) {
    return sleep(LONG_S); /* NOLINT(concurrency-mt-unsafe): what is tested */
}
static inline long do_sem_timedwait(void) {
    struct timespec t = in_long_time(CLOCK_REALTIME);
    return sem_timedwait(&sems[0], &t);
}
static inline long do_recv_timeout(void) {
    struct timeval t = {LONG_S, 0};
    char c;
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    return recv(sockets[0], &c, 1, 0);
}
static inline long do_semop(void) {
    struct sembuf down = {0, -1, 0};
    return semop(sem_id, &down, 1);
}
static inline long do_msgrcv(void) {
    struct {
        long type;
        char text[8];
    } m;
    return msgrcv(msg_id, &m, sizeof m.text, 0, 0);
}
static inline long do_pause(void) {
    return pause();
}
static inline long do_sigtimedwait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &long_time);
}
static inline long do_read(void) {
    char c;
    return read(pipe_fds[0], &c, 1);
}
static inline long do_accept(void) {
    return accept(listening, NULL, NULL);
}
static inline long do_recv(void) {
    char c;
    return recv(sockets[2], &c, 1, 0);
}
static inline long do_mutex(void) {
    return pthread_mutex_lock(&locked);
}
static inline long do_cond_wait(void) {
    pthread_mutex_lock(&of_cond[0]);
    return pthread_cond_wait(&conds[0], &of_cond[0]);
}
static inline long do_cond_timedwait(void) {
    struct timespec t = in_long_time(CLOCK_REALTIME);
    pthread_mutex_lock(&of_cond[1]);
    return pthread_cond_timedwait(&conds[1], &of_cond[1], &t);
}
static inline long do_sem_wait(void) {
    return sem_wait(&sems[1]);
}
static inline long do_wait4(void) {
    return waitpid(child, NULL, 0);
}
static inline long do_flock(void) {
    return flock(lock_fds[1], LOCK_EX);
}
static inline long do_eventfd_read(void) {
    uint64_t v;
    return read(event, &v, sizeof v);
}

#define LONG_WAIT(call) \
    { #call, do_##call }
static const struct long_wait {
    const char *name;
    long (*call)(void);
} long_waits[] = {
    LONG_WAIT(poll),           LONG_WAIT(ppoll),         LONG_WAIT(epoll_wait),
    LONG_WAIT(select),         LONG_WAIT(nanosleep),     LONG_WAIT(clock_nanosleep),
    LONG_WAIT(sleep),          LONG_WAIT(sem_timedwait), LONG_WAIT(recv_timeout),
    LONG_WAIT(semop),          LONG_WAIT(msgrcv),        LONG_WAIT(pause),
    LONG_WAIT(sigtimedwait),   LONG_WAIT(read),          LONG_WAIT(accept),
    LONG_WAIT(recv),           LONG_WAIT(mutex),         LONG_WAIT(cond_wait),
    LONG_WAIT(cond_timedwait), LONG_WAIT(sem_wait),      LONG_WAIT(wait4),
    LONG_WAIT(flock),          LONG_WAIT(eventfd_read),
};
#define LONG_WAITS (sizeof long_waits / sizeof long_waits[0])

static inline void long_waits_check(int is_right) {
    if (!is_right) {
        abort();
    }
}

static inline void long_waits_open(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* bound to no name: the kernel picks one */
    char path[] = "/tmp/hangdog-lock-XXXXXX";

    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    sem_id = semget(IPC_PRIVATE, 1, 0600);
    msg_id = msgget(IPC_PRIVATE, 0600);
    long_waits_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    long_waits_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets + 2) == 0);
    long_waits_check(pipe2(pipe_fds, O_CLOEXEC) == 0);
    event = eventfd(0, EFD_CLOEXEC);
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    long_waits_check(bind(listening, (struct sockaddr *)&name, sizeof name.sun_family) == 0);
    long_waits_check(listen(listening, 1) == 0);
    lock_fds[0] = mkstemp(path);
    lock_fds[1] = open(path, O_RDWR | O_CLOEXEC);
    unlink(path);
    long_waits_check(flock(lock_fds[0], LOCK_EX) == 0);
    sem_init(&sems[0], 0, 0);
    sem_init(&sems[1], 0, 0);
    pthread_mutex_lock(&locked);
}

static inline void long_waits_close(void) {
    semctl(sem_id, 0, IPC_RMID);
    msgctl(msg_id, IPC_RMID, NULL);
    kill(child, SIGKILL);
}

#endif
