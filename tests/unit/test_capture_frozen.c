/* SPDX-License-Identifier: MIT
 *
 * What is captured of a thread that is blocked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "capture_live.h"
#include "library.h"

/* ---- twelve kinds of waiting ---------------------------------------------------------------- */

static void in_poll(struct live *l) {
    (void)l;
    poll(NULL, 0, -1);
}

static void in_epoll_wait(struct live *l) {
    struct epoll_event e;
    (void)l;
    epoll_wait(epoll_create1(EPOLL_CLOEXEC), &e, 1, -1);
}

static void in_select(struct live *l) {
    (void)l;
    select(0, NULL, NULL, NULL, NULL);
}

static void in_nanosleep(struct live *l) {
    struct timespec long_time = {1000, 0};
    (void)l;
    nanosleep(&long_time, NULL);
}

static void in_read(struct live *l) {
    uint64_t value;
    (void)l;
    if (read(eventfd(0, EFD_CLOEXEC), &value, sizeof value) < 0) {
        perror("read");
    }
}

static void in_accept(struct live *l) {
    struct sockaddr_un name = {.sun_family = AF_UNIX}; /* bound to no name: the kernel picks one */
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)l;
    (void)bind(s, (struct sockaddr *)&name, sizeof name.sun_family);
    listen(s, 1);
    (void)accept(s, NULL, NULL);
}

static void in_recv(struct live *l) {
    int pair[2];
    char c;
    (void)l;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        recv(pair[0], &c, 1, 0);
    }
}

static void in_mutex(struct live *l) {
    pthread_mutex_lock(l->arg);
}

static void in_cond_wait(struct live *l) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    (void)l;
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&cond, &mutex);
}

static void in_sem_wait(struct live *l) {
    static sem_t sem;
    (void)l;
    sem_init(&sem, 0, 0);
    sem_wait(&sem);
}

static void in_semop(struct live *l) {
    struct sembuf down = {0, -1, 0};
    int *id = l->arg;
    semop(*id, &down, 1);
}

static void in_pause(struct live *l) {
    (void)l;
    pause();
}

/* The calls that libc makes, and the instruction. */
#if defined(__x86_64__)
enum {
    CALL_POLL = SYS_poll,
    CALL_EPOLL = SYS_epoll_wait,
    CALL_PAUSE = SYS_pause,
    CALL_BYTES = 2
};
#define CALL_CODE "\x0f\x05"
#elif defined(__aarch64__)
enum {
    CALL_POLL = SYS_ppoll,
    CALL_EPOLL = SYS_epoll_pwait,
    CALL_PAUSE = SYS_ppoll,
    CALL_BYTES = 4
};
#define CALL_CODE "\x01\x00\x00\xd4"
#endif

/* The thread stays in the call. */
static struct live *check_blocked_in(void (*body)(struct live *), void *arg, int nr) {
    struct live *l = calloc(1, sizeof *l); /* outlives the test: its thread stays in the call */
    struct hd_capture c;
    assert_non_null(l);
    l->arg = arg;
    assert_true(live_start(l, body));
    if (!live_capture_in(l, nr, &c)) {
        fail_msg("wanted in call %d, is in %d", nr, c.syscall_nr);
    }
    uint64_t signals = l->target.cost.signals; /* one that it got on its way into the call */
    uint64_t bounds[2] = {l->target.bounds.lo, l->target.bounds.hi};
    assert_true(bounds[0] < c.regs.sp && c.regs.sp < bounds[1]);
    assert_int_equal(c.state, HD_RUN_BLOCKED);
    assert_memory_equal((const uint8_t *)c.regs.pc - CALL_BYTES, CALL_CODE, CALL_BYTES); /* right behind it */
    for (int i = 0; i < 20; i++) {
        hd_target_forget_last(&l->target); /* not "same": the copy itself, again and again */
        assert_int_equal(hd_capture_take(&l->target, true, &c), 0);
        assert_int_equal(c.way, HD_WAY_FROZEN);
        assert_false(c.same);
        assert_true(c.stack_addr <= c.regs.sp && c.regs.sp < c.stack_addr + c.stack_bytes);
        uint64_t at_sp;
        memcpy(&at_sp, c.stack + (c.regs.sp - c.stack_addr), sizeof at_sp);
        assert_int_equal(at_sp, *(const uint64_t *)c.regs.sp);
    }
    assert_int_equal(l->target.cost.signals, signals);
    assert_int_equal(live_get(&l->returned), 0);
    return l;
}

static void check_blocked_for_ever_in(void (*body)(struct live *), void *arg, int nr) {
    live_abandon(check_blocked_in(body, arg, nr));
}

static void a_blocked_thread_is_read_in_place_in_twelve_kinds_of_calls(void **state) {
    static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;
    static int sem_id;
    (void)state;
    pthread_mutex_lock(&locked);
    sem_id = semget(IPC_PRIVATE, 1, 0600);
    check_blocked_for_ever_in(in_poll, NULL, CALL_POLL);
    check_blocked_for_ever_in(in_epoll_wait, NULL, CALL_EPOLL);
    check_blocked_for_ever_in(in_select, NULL, SYS_pselect6); /* as libc makes it */
    check_blocked_for_ever_in(in_nanosleep, NULL, SYS_clock_nanosleep);
    check_blocked_for_ever_in(in_read, NULL, SYS_read);
    check_blocked_for_ever_in(in_accept, NULL, SYS_accept);
    check_blocked_for_ever_in(in_recv, NULL, SYS_recvfrom);
    check_blocked_for_ever_in(in_mutex, &locked, SYS_futex);
    check_blocked_for_ever_in(in_cond_wait, NULL, SYS_futex);
    check_blocked_for_ever_in(in_sem_wait, NULL, SYS_futex);
    if (sem_id >= 0) {
        struct live *l = check_blocked_in(in_semop, &sem_id, SYS_semtimedop);
        semctl(sem_id, 0, IPC_RMID); /* wakes it */
        live_end(l);
        free(l);
    }
    check_blocked_for_ever_in(in_pause, NULL, CALL_PAUSE);
}

/* ---- what else a frozen capture tells --------------------------------------------------------- */

static void equal_figures_prove_the_stack_and_nothing_is_copied(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_capture first, second;
    assert_true(live_start_reader(&l, &fd, live_body_read));
    assert_true(live_capture_in(&l, SYS_read, &first));
    assert_int_equal(hd_capture_take(&l.target, true, &second), 0);
    assert_true(second.same);
    assert_int_equal(second.stack_bytes, 0);
    assert_int_equal(second.regs.pc, first.regs.pc);
    assert_int_equal(second.regs.sp, first.regs.sp);
    assert_int_equal(second.syscall_nr, SYS_read);
    assert_int_equal(second.syscall_args[0], fd);
    assert_int_equal(second.state, HD_RUN_BLOCKED);
    assert_true(second.at_ns > first.at_ns);
    assert_true(hd_thread_clock_rests(&l.target.files, &second.sched));

    assert_int_equal(eventfd_write(fd, 1), 0); /* it wakes, and blocks again at the same place */
    struct hd_sched before = second.sched;
    for (int i = 0; i < 10000 && second.sched.slices == before.slices; i++) {
        live_nap(HD_NS_PER_MS);
        assert_int_equal(hd_capture_take(&l.target, true, &second), 0);
    }
    assert_false(second.same);
    assert_false(hd_thread_clock_rests(&l.target.files, &before));
    assert_true(second.stack_bytes > 0);
    live_end_reader(&l);
}

/* Reads one event, and after that waits elsewhere. */
static void in_read_then_poll(struct live *l) {
    uint64_t value;
    while (live_get(&l->stop) == 0 && read(*(int *)l->arg, &value, sizeof value) > 0 && value == 1) {
    }
    struct pollfd never = {.fd = -1};
    while (live_get(&l->stop) == 0) {
        poll(&never, 1, 20);
    }
}

static void wait_in_call(struct live *l, struct hd_capture *c, int nr, uint64_t slices) {
    do {
        hd_target_forget_last(&l->target);
        assert_true(live_capture_in(l, nr, c));
    } while (c->sched.slices == slices);
}

static void a_thread_has_moved_once_it_waits_elsewhere(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_capture first, now;
    assert_true(live_start_reader(&l, &fd, in_read_then_poll));
    assert_true(live_capture_in(&l, SYS_read, &first));
    assert_false(hd_capture_has_moved(hd_thread_id_of(l.tid), &first)); /* it has not run */
    assert_int_equal(eventfd_write(fd, 1), 0);
    wait_in_call(&l, &now, SYS_read, first.sched.slices);
    assert_false(hd_capture_has_moved(hd_thread_id_of(l.tid), &first)); /* the same place */
    assert_int_equal(eventfd_write(fd, 2), 0);
    wait_in_call(&l, &now, CALL_POLL, first.sched.slices);
    assert_true(hd_capture_has_moved(hd_thread_id_of(l.tid), &first));
    now.way = HD_WAY_SIGNALLED; /* a running thread has always moved a little */
    assert_false(hd_capture_has_moved(hd_thread_id_of(l.tid), &now));
    first.sched = (struct hd_sched){0}; /* not known */
    assert_false(hd_capture_has_moved(hd_thread_id_of(l.tid), &first));
    live_end_reader(&l);
}

static void finds_the_owner_of_a_mutex(void **state) {
    (void)state;
    static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER;
    struct live l = {.arg = &locked};
    struct hd_capture c;
    pthread_mutex_lock(&locked);
    assert_true(live_start(&l, in_mutex));
    assert_true(live_capture_in(&l, SYS_futex, &c));
    assert_int_equal(c.syscall_args[0], (uint64_t)&locked);
    assert_true(c.futex_read);
    assert_int_equal(c.futex_words[2], hd_os.get_tid());
    pthread_mutex_unlock(&locked);
    live_end(&l);
}

static void a_stack_that_is_not_the_threads_own_is_read_by_fallible_calls(void **state) {
    (void)state;
    int fd;
    struct live l = {.inside = live_body_read};
    struct hd_capture c;
    assert_true(live_start_reader(&l, &fd, live_body_coroutine));
    assert_true(live_capture_in(&l, SYS_read, &c));
    assert_false(c.regs.sp >= l.target.bounds.lo && c.regs.sp < l.target.bounds.hi);
    assert_true(c.stack_addr <= c.regs.sp && c.regs.sp + 64 < c.stack_addr + c.stack_bytes);
    assert_memory_equal(c.stack + (c.regs.sp - c.stack_addr), (const void *)c.regs.sp, 64);
    live_end_reader(&l);
}

static void an_unwatched_thread_is_read_too(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_target other = {0};
    struct hd_capture c;
    assert_true(live_start_reader(&l, &fd, live_body_read));
    assert_int_equal(hd_target_open(&other, hd_thread_id_of(l.tid)), 0);
    int rc = live_frozen_reading(&other, &c);
    assert_int_equal(rc, 0);
    assert_true(c.stack_bytes > 0 || c.same);
    hd_target_forget_last(&other);
    assert_int_equal(hd_capture_files_open(), 0); /* by /proc/self/mem now */
    assert_int_equal(hd_capture_frozen(&other, live_stack, &c), 0);
    hd_capture_files_close();
    assert_true(c.stack_addr <= c.regs.sp && c.regs.sp + 64 < c.stack_addr + c.stack_bytes);
    assert_memory_equal(live_stack + (c.regs.sp - c.stack_addr), (const void *)c.regs.sp, 64);
    hd_target_close(&other);
    live_end_reader(&l);
}

static void fails_for_a_thread_that_has_ended(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    live_set(&l.stop, 1);
    pthread_join(l.thread, NULL);
    /* The kernel may be a little later than pthread_join. */
    int rc;
    for (int i = 0; (rc = hd_capture_take(&l.target, true, &c)) == 0 && i < 1000; i++) {
        live_nap(HD_NS_PER_MS);
    }
    assert_int_equal(rc, -ESRCH);
    assert_int_equal(c.state, HD_RUN_GONE);
    assert_int_equal(c.stack_bytes, 0);
    assert_int_equal(hd_capture_frozen(&l.target, live_stack, &c), -ESRCH);
    struct hd_sched sched;
    assert_int_equal(hd_thread_clock_sched(&l.target.files, &sched), -ESRCH);
    assert_false(hd_thread_clock_rests(&l.target.files, &c.sched));
    hd_target_close(&l.target);
    hd_os_memory_give(l.memory, hd_capture_thread_bytes());
}

/* Computes for 100 us, waits for 20: what a program does that asks a fast disk for one block after the other.
 */
static void in_short_waits(struct live *l) {
    struct timespec wait = {0, SANITIZED ? 100000 : 20000}; /* instrumented, the monitor needs longer */
    prctl(PR_SET_TIMERSLACK, 1);
    while (live_get(&l->stop) == 0) {
        uint64_t until = hd_os_now_ns() + 100 * HD_NS_PER_US;
        while (hd_os_now_ns() < until) {
        }
        nanosleep(&wait, NULL);
    }
}

static unsigned met_in_short_waits(struct live *l, unsigned captures) {
    struct hd_capture c;
    unsigned met = 0;
    for (unsigned i = 0; i < captures; i++) {
        live_nap(20 * HD_NS_PER_MS);
        assert_int_equal(hd_capture_take(&l->target, true, &c), 0);
        met += c.way == HD_WAY_FROZEN && c.syscall_nr == SYS_clock_nanosleep;
    }
    return met;
}

static void a_thread_that_waits_briefly_and_often_is_met_in_its_waits(void **state) {
    (void)state;
    struct live l = {0};
    unsigned met = 0, wanted = SANITIZED ? 5 : 20;
    assert_true(live_start(&l, in_short_waits));
    for (int round = 0; met < wanted && round < 5;
         round++) { /* the machine may do something else meanwhile */
        met = met_in_short_waits(&l, 50);
    }
    live_end(&l);
    print_message("met in %u of 50 captures\n", met);
    assert_true(met >= wanted);
}

/* ---- the end of a watch ------------------------------------------------------------------------ */

static void *capture_until_gone(void *arg) {
    struct live *l = arg;
    struct hd_capture c;
    do {
        hd_target_forget_last(&l->target);
    } while (hd_capture_take(&l->target, true, &c) == 0);
    return NULL;
}

static void in_short_naps(struct live *l) {
    struct timespec nap = {0, 200000};
    live_wait(l->arg);
    for (int i = 0; i < 10; i++) {
        nanosleep(&nap, NULL);
    }
}

static void a_thread_may_end_while_it_is_being_captured(void **state) {
    (void)state;
    for (int i = 0; i < 30; i++) {
        int go = 0;
        struct live l = {.arg = &go};
        pthread_t monitor;
        assert_true(live_start(&l, in_short_naps));
        assert_int_equal(pthread_create(&monitor, NULL, capture_until_gone, &l), 0);
        live_set(&go, 1);
        pthread_join(l.thread, NULL);
        assert_int_equal(l.leave_rc, 0);
        pthread_join(monitor, NULL);
        hd_target_close(&l.target);
        hd_os_memory_give(l.memory, hd_capture_thread_bytes());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocked_thread_is_read_in_place_in_twelve_kinds_of_calls),
        cmocka_unit_test(equal_figures_prove_the_stack_and_nothing_is_copied),
        cmocka_unit_test(a_thread_has_moved_once_it_waits_elsewhere),
        cmocka_unit_test(finds_the_owner_of_a_mutex),
        cmocka_unit_test(a_stack_that_is_not_the_threads_own_is_read_by_fallible_calls),
        cmocka_unit_test(an_unwatched_thread_is_read_too),
        cmocka_unit_test(a_thread_that_waits_briefly_and_often_is_met_in_its_waits),
        cmocka_unit_test(fails_for_a_thread_that_has_ended),
        cmocka_unit_test(a_thread_may_end_while_it_is_being_captured),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
