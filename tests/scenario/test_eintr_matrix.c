/* SPDX-License-Identifier: MIT
 *
 * Twenty-three kinds of waiting, each sampled a thousand times while a thread is in it: none returns early.
 * Beside it the usual sampler, a signal under SA_RESTART, which breaks half of them: so the test can fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "capture_live.h"

#define LONG_S 1000
#define SAMPLES 1000
#define INTERVAL_NS (10 * HD_NS_PER_MS)

static int sem_id, msg_id, lock_fds[2], sockets[4], pipe_fds[2], listening, event;
static pid_t child;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER,
                       of_cond[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t conds[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static sem_t sems[2];

static struct timespec in_long_time(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_sec += LONG_S;
    return t;
}

static const struct timespec long_time = {LONG_S, 0};

static long do_poll(void) {
    return poll(NULL, 0, LONG_S * 1000);
}
static long do_ppoll(void) {
    return ppoll(NULL, 0, &long_time, NULL);
}
static long do_epoll_wait(void) {
    struct epoll_event e;
    return epoll_wait(epoll_create1(EPOLL_CLOEXEC), &e, 1, LONG_S * 1000);
}
static long do_select(void) {
    struct timeval t = {LONG_S, 0};
    return select(0, NULL, NULL, NULL, &t);
}
static long do_nanosleep(void) {
    return nanosleep(&long_time, NULL);
}
static long do_clock_nanosleep(void) {
    struct timespec t = in_long_time(CLOCK_MONOTONIC);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}
static long do_sleep(void) {
    return sleep(LONG_S); /* NOLINT(concurrency-mt-unsafe): what is tested */
}
static long do_sem_timedwait(void) {
    struct timespec t = in_long_time(CLOCK_REALTIME);
    return sem_timedwait(&sems[0], &t);
}
static long do_recv_timeout(void) {
    struct timeval t = {LONG_S, 0};
    char c;
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    return recv(sockets[0], &c, 1, 0);
}
static long do_semop(void) {
    struct sembuf down = {0, -1, 0};
    return semop(sem_id, &down, 1);
}
static long do_msgrcv(void) {
    struct {
        long type;
        char text[8];
    } m;
    return msgrcv(msg_id, &m, sizeof m.text, 0, 0);
}
static long do_pause(void) {
    return pause();
}
static long do_sigtimedwait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &long_time);
}
static long do_read(void) {
    char c;
    return read(pipe_fds[0], &c, 1);
}
static long do_accept(void) {
    return accept(listening, NULL, NULL);
}
static long do_recv(void) {
    char c;
    return recv(sockets[2], &c, 1, 0);
}
static long do_mutex(void) {
    return pthread_mutex_lock(&held);
}
static long do_cond_wait(void) {
    pthread_mutex_lock(&of_cond[0]);
    return pthread_cond_wait(&conds[0], &of_cond[0]);
}
static long do_cond_timedwait(void) {
    struct timespec t = in_long_time(CLOCK_REALTIME);
    pthread_mutex_lock(&of_cond[1]);
    return pthread_cond_timedwait(&conds[1], &of_cond[1], &t);
}
static long do_sem_wait(void) {
    return sem_wait(&sems[1]);
}
static long do_wait4(void) {
    return waitpid(child, NULL, 0);
}
static long do_flock(void) {
    return flock(lock_fds[1], LOCK_EX);
}
static long do_eventfd_read(void) {
    uint64_t v;
    return read(event, &v, sizeof v);
}

struct row {
    const char *name;
    long (*call)(void);
    struct live live;
    int returned_errno;
};

#define ROW(call) \
    { #call, do_##call, {0 }, 0 }
static struct row rows[] = {
    ROW(poll),           ROW(ppoll),         ROW(epoll_wait),
    ROW(select),         ROW(nanosleep),     ROW(clock_nanosleep),
    ROW(sleep),          ROW(sem_timedwait), ROW(recv_timeout),
    ROW(semop),          ROW(msgrcv),        ROW(pause),
    ROW(sigtimedwait),   ROW(read),          ROW(accept),
    ROW(recv),           ROW(mutex),         ROW(cond_wait),
    ROW(cond_timedwait), ROW(sem_wait),      ROW(wait4),
    ROW(flock),          ROW(eventfd_read),
};
#define ROWS (sizeof rows / sizeof rows[0])

static void in_the_call(struct live *l) {
    struct row *r = l->arg;
    long rc = r->call();
    r->returned_errno = rc < 0 ? errno : (int)rc;
}

static void open_everything(void) {
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* bound to no name: the kernel picks one */
    char path[] = "/tmp/hangdog-lock-XXXXXX";

    child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    sem_id = semget(IPC_PRIVATE, 1, 0600);
    msg_id = msgget(IPC_PRIVATE, 0600);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets + 2), 0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    event = eventfd(0, EFD_CLOEXEC);
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&name, sizeof name.sun_family), 0);
    assert_int_equal(listen(listening, 1), 0);
    lock_fds[0] = mkstemp(path);
    lock_fds[1] = open(path, O_RDWR | O_CLOEXEC);
    unlink(path);
    assert_int_equal(flock(lock_fds[0], LOCK_EX), 0);
    sem_init(&sems[0], 0, 0);
    sem_init(&sems[1], 0, 0);
    pthread_mutex_lock(&held);
}

static unsigned count_returned(bool print) {
    unsigned n = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (live_get(&rows[i].live.returned) != 0) {
            n++;
            if (print) {
                print_message(" %s", rows[i].name);
            }
        }
    }
    return n;
}

/* Whatever it waited for on its way into the call itself: it is there when it is found at one place twice. */
static bool wait_until_in_its_call(struct live *l) {
    struct hd_capture before = {0}, now;
    for (unsigned i = 0; i < 2000 && live_capture_by(l, HD_WAY_FROZEN, &now); i++) {
        if (i > 0 && now.syscall_nr == before.syscall_nr && now.regs.sp == before.regs.sp) {
            return true;
        }
        before = now;
        live_nap(10 * HD_NS_PER_MS);
    }
    return false;
}

static void no_call_returns_early_when_sampled(void **state) {
    struct hd_capture c;
    uint64_t copies = 0, signals = 0, slowest = 0;
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        rows[i].live.arg = &rows[i];
        assert_true(live_start(&rows[i].live, in_the_call));
    }
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(wait_until_in_its_call(&rows[i].live));
    }
    for (size_t i = 0; i < ROWS; i++) {
        signals += rows[i].live.target.cost.signals;
    }
    uint64_t next = hd_os_now_ns();
    for (unsigned n = 0; n < SAMPLES; n++) {
        for (size_t i = 0; i < ROWS; i++) {
            uint64_t begin = hd_os_now_ns();
            rows[i].live.target.last_valid = n % 2 == 1; /* every other time the whole copy */
            assert_int_equal(hd_capture_take(&rows[i].live.target, true, &c), 0);
            assert_int_equal(c.way, HD_WAY_FROZEN);
            copies += c.stack_bytes != 0;
            uint64_t took = hd_os_now_ns() - begin;
            slowest = took > slowest ? took : slowest;
        }
        next += INTERVAL_NS;
        hd_os.futex_wait(&(uint32_t){0}, 0, next, false);
    }
    unsigned early = count_returned(true);
    for (size_t i = 0; i < ROWS; i++) {
        signals -= rows[i].live.target.cost.signals;
    }
    print_message(
        "%u of %zu calls returned early after %u samples each (%lu copies, slowest sample %lu us)\n", early,
        ROWS, SAMPLES, copies, slowest / 1000);
    assert_int_equal(early, 0);
    assert_int_equal(signals, 0);
}

static void nothing(int signal) {
    (void)signal;
}

static void a_plain_signal_sampler_breaks_them(void **state) {
    struct sigaction plain = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    (void)state;
    sigaction(SIGUSR1, &plain, NULL);
    for (size_t i = 0; i < ROWS; i++) {
        pthread_kill(rows[i].live.thread, SIGUSR1);
    }
    unsigned early = 0;
    for (int i = 0; i < 500 && early < 12; i++) {
        live_nap(10 * HD_NS_PER_MS);
        early = count_returned(false);
    }
    live_nap(50 * HD_NS_PER_MS);
    early = count_returned(true);
    print_message(": one signal under SA_RESTART ended %u of %zu\n", early, ROWS);
    assert_true(early >= 12);
}

static void close_everything(void) {
    semctl(sem_id, 0, IPC_RMID);
    msgctl(msg_id, IPC_RMID, NULL);
    kill(child, SIGKILL);
    for (size_t i = 0; i < ROWS; i++) {
        live_abandon(&rows[i].live); /* those that are still in their call end with the process */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_returns_early_when_sampled),
        cmocka_unit_test(a_plain_signal_sampler_breaks_them),
    };
    hd_os_clock_init();
    open_everything();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    close_everything();
    return failed;
}
