/* SPDX-License-Identifier: MIT
 *
 * A thread that works for 20 µs to 10 ms and then waits for 50 µs to 5 ms, again and again, captured as often
 * as can be: a signal that was sent while it worked may arrive when it waits. In each kind of waiting no call
 * returns early. Each has its turn of a few seconds, or until a thousand signals were sent; on a machine with
 * much to do the turn is longer, so that each row is a test. The waits that cannot end by themselves are
 * ended by a partner.
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

#define SIGNALS_WANTED 1000 /* of one row, and of all of them */
/* Of each row: a dozen came in a turn beside six busy processes on two processors. */
#define SIGNALS_LEAST 20
#define TURN_NS (2500 * HD_NS_PER_MS)
#define TURN_MAX_NS (10 * HD_NS_PER_S) /* of all rows: within the time that a test has */

struct row {
    const char *name;
    bool (*wait)(uint64_t ns); /* false: it returned early */
    void (*prepare)(void);     /* by the partner, before the wait; NULL: nothing */
    void (*release)(void);     /* by the partner, `ns` later; NULL: the wait ends by itself */
    /* what came of it */
    uint64_t calls, early, too_short, signals, restarted, interrupted;
};

static struct row *row;

/* ---- the partner ----------------------------------------------------------------------------------- */

static uint32_t requests, prepared; /* atomic: counts of requests */
static uint64_t release_after_ns;   /* atomic */
static uint32_t partner_stop;

static void *partner_run(void *arg) {
    uint32_t done = 0;
    for (;;) {
        uint32_t now = __atomic_load_n(&requests, __ATOMIC_ACQUIRE);
        if (now == done) {
            if (__atomic_load_n(&partner_stop, __ATOMIC_ACQUIRE) != 0) {
                return arg;
            }
            hd_os.futex_wait(&requests, now, hd_os_now_ns() + 20 * HD_NS_PER_MS, false);
            continue;
        }
        if (row->prepare != NULL) {
            row->prepare();
        }
        done = now;
        uint64_t ns = __atomic_load_n(&release_after_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&prepared, done, __ATOMIC_RELEASE);
        live_nap(ns);
        row->release();
    }
}

static void ask_partner(uint64_t ns) {
    __atomic_store_n(&release_after_ns, ns, __ATOMIC_RELAXED);
    uint32_t mine = __atomic_add_fetch(&requests, 1, __ATOMIC_ACQ_REL);
    hd_os.futex_wake(&requests, 1, false);
    while (__atomic_load_n(&prepared, __ATOMIC_ACQUIRE) != mine) {
        hd_os.futex_wait(&prepared, mine - 1, hd_os_now_ns() + 50 * HD_NS_PER_US, false);
    }
}

/* ---- the calls --------------------------------------------------------------------------------------- */

static int sem_id, msg_id, lock_fds[2], sockets[4], pipe_fds[2], listening, event, instance;
static struct sockaddr_un listening_name;
static socklen_t listening_name_bytes = sizeof listening_name;
static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER, of_cond = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool cond_true;
static sem_t never, sometimes;
static int pause_over; /* atomic */
static pthread_t waiter;

static struct timespec from_ns(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / HD_NS_PER_S), .tv_nsec = (long)(ns % HD_NS_PER_S)};
}

static struct timespec later(clockid_t clock, uint64_t ns) {
    struct timespec t;
    clock_gettime(clock, &t);
    return from_ns((uint64_t)t.tv_sec * HD_NS_PER_S + (uint64_t)t.tv_nsec + ns);
}

/* Whole milliseconds only. */
static int to_ms(uint64_t ns) {
    return (int)((ns + HD_NS_PER_MS - 1) / HD_NS_PER_MS);
}

static bool wait_poll(uint64_t ns) {
    return poll(NULL, 0, to_ms(ns)) == 0;
}
static bool wait_ppoll(uint64_t ns) {
    struct timespec t = from_ns(ns);
    return ppoll(NULL, 0, &t, NULL) == 0;
}
static bool wait_epoll_wait(uint64_t ns) {
    struct epoll_event e;
    return epoll_wait(instance, &e, 1, to_ms(ns)) == 0;
}
static bool wait_select(uint64_t ns) {
    struct timeval t = {0, (suseconds_t)(ns / 1000 + 1)};
    return select(0, NULL, NULL, NULL, &t) == 0;
}
static bool wait_nanosleep(uint64_t ns) {
    struct timespec t = from_ns(ns);
    return nanosleep(&t, NULL) == 0;
}
static bool wait_clock_nanosleep(uint64_t ns) {
    struct timespec t = later(CLOCK_MONOTONIC, ns);
    return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0;
}
static bool wait_usleep(uint64_t ns) {
    return usleep((useconds_t)(ns / 1000 + 1)) == 0;
}
static bool wait_sem_timedwait(uint64_t ns) {
    struct timespec t = later(CLOCK_REALTIME, ns);
    return sem_timedwait(&never, &t) < 0 && errno == ETIMEDOUT;
}
static bool wait_recv_timeout(uint64_t ns) {
    struct timeval t = {0, (suseconds_t)(ns / 1000 + 1)};
    char c;
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    return recv(sockets[0], &c, 1, 0) < 0 && errno == EAGAIN;
}
static bool wait_sigtimedwait(uint64_t ns) {
    struct timespec t = from_ns(ns);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &t) < 0 && errno == EAGAIN;
}
static bool wait_cond_timedwait(uint64_t ns) {
    struct timespec t = later(CLOCK_REALTIME, ns);
    int rc = 0;
    pthread_mutex_lock(&of_cond);
    while (rc == 0) {
        rc = pthread_cond_timedwait(&cond, &of_cond, &t);
    }
    pthread_mutex_unlock(&of_cond);
    return rc == ETIMEDOUT;
}

static bool wait_semop(uint64_t ns) {
    struct sembuf down = {0, -1, 0};
    (void)ns;
    return semop(sem_id, &down, 1) == 0;
}
static void release_semop(void) {
    struct sembuf up = {0, 1, 0};
    semop(sem_id, &up, 1);
}

struct message {
    long type;
    char text[8];
};
static bool wait_msgrcv(uint64_t ns) {
    struct message m;
    (void)ns;
    return msgrcv(msg_id, &m, sizeof m.text, 0, 0) >= 0;
}
static void release_msgrcv(void) {
    struct message m = {.type = 1};
    msgsnd(msg_id, &m, sizeof m.text, 0);
}

static void on_usr1(int signal) {
    (void)signal;
    __atomic_store_n(&pause_over, 1, __ATOMIC_RELEASE);
}
static void prepare_pause(void) {
    __atomic_store_n(&pause_over, 0, __ATOMIC_RELEASE);
}
static bool wait_pause(uint64_t ns) {
    sigset_t open; /* as pause, but a signal that comes just before it is not lost */
    (void)ns;
    pthread_sigmask(SIG_SETMASK, NULL, &open);
    sigdelset(&open, SIGUSR1);
    sigsuspend(&open); /* NOLINT(concurrency-mt-unsafe): what is tested */
    return __atomic_load_n(&pause_over, __ATOMIC_ACQUIRE) != 0;
}
static void release_pause(void) {
    pthread_kill(waiter, SIGUSR1);
}

static bool read_byte(int fd) {
    char c;
    return read(fd, &c, 1) == 1;
}
static void write_byte(int fd) {
    if (write(fd, "x", 1) != 1) {
        perror("write");
    }
}
static bool wait_read(uint64_t ns) {
    return (void)ns, read_byte(pipe_fds[0]);
}
static void release_read(void) {
    write_byte(pipe_fds[1]);
}
static bool wait_recv(uint64_t ns) {
    char c;
    (void)ns;
    return recv(sockets[2], &c, 1, 0) == 1;
}
static void release_recv(void) {
    write_byte(sockets[3]);
}
static bool wait_accept(uint64_t ns) {
    (void)ns;
    int fd = accept(listening, NULL, NULL);
    return fd >= 0 && close(fd) == 0;
}
static void release_accept(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&listening_name, listening_name_bytes) < 0) {
        perror("connect");
    }
    close(fd);
}
static void prepare_mutex(void) {
    pthread_mutex_lock(&locked);
}
static bool wait_mutex(uint64_t ns) {
    (void)ns;
    return pthread_mutex_lock(&locked) == 0 && pthread_mutex_unlock(&locked) == 0;
}
static void release_mutex(void) {
    pthread_mutex_unlock(&locked);
}
static bool wait_cond_wait(uint64_t ns) {
    (void)ns;
    pthread_mutex_lock(&of_cond);
    while (!cond_true) {
        pthread_cond_wait(&cond, &of_cond);
    }
    cond_true = false;
    pthread_mutex_unlock(&of_cond);
    return true;
}
static void release_cond_wait(void) {
    pthread_mutex_lock(&of_cond);
    cond_true = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&of_cond);
}
static bool wait_sem_wait(uint64_t ns) {
    return (void)ns, sem_wait(&sometimes) == 0;
}
static void release_sem_wait(void) {
    sem_post(&sometimes);
}
static bool wait_wait4(uint64_t ns) {
    struct timespec t = from_ns(ns);
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        nanosleep(&t, NULL);
        _exit(7);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}
static void prepare_flock(void) {
    flock(lock_fds[0], LOCK_EX);
}
static bool wait_flock(uint64_t ns) {
    (void)ns;
    return flock(lock_fds[1], LOCK_EX) == 0 && flock(lock_fds[1], LOCK_UN) == 0;
}
static void release_flock(void) {
    flock(lock_fds[0], LOCK_UN);
}
static bool wait_eventfd_read(uint64_t ns) {
    uint64_t v;
    (void)ns;
    return read(event, &v, sizeof v) == sizeof v;
}
static void release_eventfd_read(void) {
    uint64_t one = 1;
    if (write(event, &one, sizeof one) < 0) {
        perror("write");
    }
}

#define TIMED(call) \
    { .name = #call, .wait = wait_##call }
#define BY_PARTNER(call) \
    { .name = #call, .wait = wait_##call, .release = release_##call }
#define BY_LOCK(call) \
    { .name = #call, .wait = wait_##call, .prepare = prepare_##call, .release = release_##call }
static struct row rows[] = {
    TIMED(poll),
    TIMED(ppoll),
    TIMED(epoll_wait),
    TIMED(select),
    TIMED(nanosleep),
    TIMED(clock_nanosleep),
    TIMED(usleep),
    TIMED(sem_timedwait),
    TIMED(recv_timeout),
    BY_PARTNER(semop),
    BY_PARTNER(msgrcv),
    BY_LOCK(pause),
    TIMED(sigtimedwait),
    BY_PARTNER(read),
    BY_PARTNER(accept),
    BY_PARTNER(recv),
    BY_LOCK(mutex),
    BY_PARTNER(cond_wait),
    TIMED(cond_timedwait),
    BY_PARTNER(sem_wait),
    TIMED(wait4),
    BY_LOCK(flock),
    BY_PARTNER(eventfd_read),
};
#define ROWS (sizeof rows / sizeof rows[0])

/* ---- the thread and its monitor ------------------------------------------------------------------------ */

/* Between lo and hi, each order of magnitude as likely as any other. */
static uint64_t spread(unsigned *seed, uint64_t lo, uint64_t hi) {
    while (lo * 2 <= hi && rand_r(seed) % 3 != 0) {
        lo *= 2;
    }
    return lo + (uint64_t)rand_r(seed) % lo;
}

static void alternate(struct live *l) {
    static unsigned seed = 7;
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    waiter = pthread_self();
    while (live_get(&l->stop) == 0) {
        uint64_t work = spread(&seed, 20 * HD_NS_PER_US, 10 * HD_NS_PER_MS);
        uint64_t wait = spread(&seed, 50 * HD_NS_PER_US, 5 * HD_NS_PER_MS);
        for (uint64_t begin = hd_os_now_ns(); hd_os_now_ns() - begin < work;) {
        }
        if (row->release != NULL) {
            ask_partner(wait);
        }
        uint64_t begin = hd_os_now_ns();
        errno = 0;
        bool whole = row->wait(wait);
        row->calls++;
        row->early += !whole;
        row->too_short += row->release == NULL && hd_os_now_ns() - begin < wait - wait / 10;
    }
}

/* The thread sanitizer's runtime holds back the signals that end a pause, and ours with them. */
static uint64_t least(const struct row *r) {
#if defined(__SANITIZE_THREAD__)
    return r->release == release_pause ? 0 : SIGNALS_LEAST;
#else
    (void)r;
    return SIGNALS_LEAST;
#endif
}

static void run_row(struct row *r, uint64_t wanted) {
    struct live l = {0};
    struct hd_capture c;
    pthread_t partner = 0;

    row = r;
    partner_stop = 0;
    requests = prepared = 0;
    assert_true(r->release == NULL || pthread_create(&partner, NULL, partner_run, NULL) == 0);
    assert_true(live_start(&l, alternate));
    uint64_t begin = hd_os_now_ns();
    while (l.target.cost.signals < SIGNALS_WANTED &&
           hd_os_now_ns() - begin < (l.target.cost.signals < wanted ? TURN_MAX_NS : TURN_NS)) {
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    }
    r->signals = l.target.cost.signals;
    r->restarted = l.target.cost.restarted_syscalls;
    r->interrupted = l.target.cost.interrupted_syscalls;
    live_end(&l);
    __atomic_store_n(&partner_stop, 1, __ATOMIC_RELEASE);
    if (r->release != NULL) {
        pthread_join(partner, NULL);
    }
}

static void open_everything(void) {
    struct sigaction usr1 = {.sa_handler = on_usr1};
    char path[] = "/tmp/hangdog-lock-XXXXXX";

    sigaction(SIGUSR1, &usr1, NULL);
    instance = epoll_create1(EPOLL_CLOEXEC);
    sem_id = semget(IPC_PRIVATE, 1, 0600);
    msg_id = msgget(IPC_PRIVATE, 0600);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets + 2), 0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    event = eventfd(0, EFD_CLOEXEC);
    listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    listening_name.sun_family = AF_UNIX;
    assert_int_equal(bind(listening, (struct sockaddr *)&listening_name, sizeof listening_name.sun_family),
                     0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&listening_name, &listening_name_bytes), 0);
    assert_int_equal(listen(listening, 1), 0);
    lock_fds[0] = mkstemp(path);
    lock_fds[1] = open(path, O_RDWR | O_CLOEXEC);
    unlink(path);
    sem_init(&never, 0, 0);
    sem_init(&sometimes, 0, 0);
}

static void no_call_returns_early_during_work(void **state) {
    uint64_t signals = 0, restarted = 0, early = 0, too_short = 0, interrupted = 0;
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        uint64_t share = signals < SIGNALS_WANTED ? (SIGNALS_WANTED - signals) / (ROWS - i) + 1 : 0;
        run_row(&rows[i], least(&rows[i]) == 0 || share < SIGNALS_LEAST ? least(&rows[i]) : share);
        const struct row *r = &rows[i];
        print_message("%-16s %6lu calls, %4lu signals: %3lu restarted, %lu returned early, %lu too short\n",
                      r->name, r->calls, r->signals, r->restarted, r->early, r->too_short);
        assert_true(r->signals >= least(r));
        signals += r->signals;
        restarted += r->restarted;
        /* one that ended for a signal of the program's own which came together with ours is counted, too */
        interrupted += r->release == release_pause ? 0 : r->interrupted;
#if defined(__SANITIZE_THREAD__)
        /* Its handlers mask everything, and a call that such a handler has ended once may be ended once by
         * ours. */
        early += r->release == release_pause ? 0 : r->early;
#else
        early += r->early;
#endif
        too_short += r->too_short;
    }
    print_message("%lu signals in all, %lu calls restarted, %lu interrupted, %lu early\n", signals, restarted,
                  interrupted, early);
    assert_true(signals >= SIGNALS_WANTED);
    assert_int_equal(early, 0);
    assert_int_equal(too_short, 0);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
    assert_int_equal(interrupted, 0); /* their runtimes make calls whose numbers the code does not show */
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_returns_early_during_work),
    };
    hd_os_clock_init();
    open_everything();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    semctl(sem_id, 0, IPC_RMID);
    msgctl(msg_id, IPC_RMID, NULL);
    return failed;
}
