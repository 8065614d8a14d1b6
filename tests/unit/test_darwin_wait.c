/* SPDX-License-Identifier: MIT
 *
 * Waits for a word over semaphores: values, time limits, counts, late signals, a full table, and two threads
 * that wake each other without end. The semaphores are those of POSIX.
 *
 * sources: src/os/darwin/wait.c
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "os/darwin/mach.h"
#include "os/darwin/wait.h"
#include "os/os.h"

/* ---- semaphores ----------------------------------------------------------------------------------- */

#define SEMAPHORES 256u

static sem_t semaphores[SEMAPHORES];
static _Atomic uint32_t made, freed, signals, waits;
static _Atomic bool refuse;

/* A waker in `slow_signal` has taken its slot, and signals later. */
static _Atomic bool slow_signal, slow_now;

static int new_semaphore(hd_port *out) {
    if (atomic_load(&refuse)) {
        return -ENOMEM;
    }
    *out = atomic_fetch_add(&made, 1) + 1;
    return *out < SEMAPHORES && sem_init(&semaphores[*out], 0, 0) == 0 ? 0 : -ENOMEM;
}

static int wait_semaphore(hd_port semaphore, uint64_t until_ns) {
    atomic_fetch_add(&waits, 1);
    struct timespec until = {.tv_sec = (time_t)(until_ns / HD_NS_PER_S),
                             .tv_nsec = (long)(until_ns % HD_NS_PER_S)};
    int rc = until_ns == UINT64_MAX ? sem_wait(&semaphores[semaphore])
                                    : sem_clockwait(&semaphores[semaphore], CLOCK_MONOTONIC, &until);
    return rc == 0 ? 0 : -errno;
}

static int signal_semaphore(hd_port semaphore) {
    while (atomic_load(&slow_signal)) {
        atomic_store(&slow_now, true);
        hd_os_nap(HD_NS_PER_MS);
    }
    atomic_fetch_add(&signals, 1);
    return sem_post(&semaphores[semaphore]);
}

static void free_semaphore(hd_port semaphore) {
    (void)semaphore;
    atomic_fetch_add(&freed, 1);
}

struct hd_mach_calls hd_mach = {.semaphore_new = new_semaphore,
                                .semaphore_wait = wait_semaphore,
                                .semaphore_signal = signal_semaphore,
                                .semaphore_free = free_semaphore};

/* ---- threads that wait ---------------------------------------------------------------------------- */

struct waiter {
    pthread_t thread;
    uint32_t *word;
    uint32_t expected;
    uint64_t until_ns;
    bool shared;
    _Atomic int result; /* 1: waits */
};

static void *wait_once(void *of) {
    struct waiter *w = of;
    atomic_store(&w->result, hd_wait_until_woken(w->word, w->expected, w->until_ns, w->shared));
    return NULL;
}

static void start(struct waiter *w, uint32_t *word, uint32_t expected, uint64_t for_ms) {
    w->word = word;
    w->expected = expected;
    w->until_ns = hd_os_now_ns() + for_ms * HD_NS_PER_MS;
    atomic_store(&w->result, 1);
    assert_int_equal(pthread_create(&w->thread, NULL, wait_once, w), 0);
}

static int end(struct waiter *w) {
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    return atomic_load(&w->result);
}

static void wait_for_sleepers(uint32_t before, uint32_t count) {
    while (atomic_load(&waits) < before + count) {
        hd_os_nap(HD_NS_PER_MS);
    }
    hd_os_nap(5 * HD_NS_PER_MS);
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static void a_word_with_another_value_is_not_waited_for(void **state) {
    uint32_t word = 7;
    (void)state;
    assert_int_equal(hd_wait_until_woken(&word, 6, UINT64_MAX, false), -EAGAIN);
    assert_int_equal(hd_wait_until_woken(&word, 6, UINT64_MAX, true), -EAGAIN);
}

static void a_wait_ends_at_its_time(void **state) {
    uint32_t word = 7;
    (void)state;
    uint64_t until_ns = hd_os_now_ns() + 20 * HD_NS_PER_MS;
    assert_int_equal(hd_wait_until_woken(&word, 7, until_ns, false), -ETIMEDOUT);
    assert_true(hd_os_now_ns() >= until_ns);
    assert_int_equal(hd_wait_wake(&word, INT_MAX, false), 0); /* it waits no more */
}

static void a_waker_wakes_as_many_as_it_may(void **state) {
    static struct waiter w[5];
    uint32_t word = 1, other = 1, before = atomic_load(&waits);
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        start(&w[i], i < 4 ? &word : &other, 1, 20000);
    }
    wait_for_sleepers(before, 5);
    assert_int_equal(hd_wait_wake(&word, 1, false), 1);
    assert_int_equal(hd_wait_wake(&word, 2, false), 2);
    assert_int_equal(hd_wait_wake(&word, INT_MAX, false), 1);
    assert_int_equal(hd_wait_wake(&word, INT_MAX, false), 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(end(&w[i]), 0);
    }
    assert_int_equal(atomic_load(&w[4].result), 1); /* another word */
    assert_int_equal(hd_wait_wake(&other, 1, false), 1);
    assert_int_equal(end(&w[4]), 0);
}

static void *wake_word(void *word) {
    hd_wait_wake(word, 1, false);
    return NULL;
}

/* The waker takes the slot and is stopped before it signals. The waiter's time ends, so it returns. The
 * signal comes while the slot's next user sleeps, which must not take it for its own. */
static void a_late_signal_ends_no_other_wait(void **state) {
    static struct waiter first, second;
    uint32_t word = 1, other = 1, before = atomic_load(&waits);
    pthread_t waker;
    (void)state;
    start(&first, &word, 1, 300);
    wait_for_sleepers(before, 1);
    atomic_store(&slow_now, false);
    atomic_store(&slow_signal, true);
    assert_int_equal(pthread_create(&waker, NULL, wake_word, &word), 0);
    while (!atomic_load(&slow_now)) {
        hd_os_nap(HD_NS_PER_MS);
    }
    assert_int_equal(end(&first), 0); /* woken, though the signal is still to come */
    before = atomic_load(&waits);
    start(&second, &other, 1, 200);
    wait_for_sleepers(before, 1);
    atomic_store(&slow_signal, false);
    pthread_join(waker, NULL);
    assert_int_equal(end(&second), -ETIMEDOUT);
}

static void threads_beyond_the_table_poll(void **state) {
    static struct waiter w[HD_WAIT_SLOTS];
    uint32_t word = 1, more = 1, before = atomic_load(&waits);
    (void)state;
    for (unsigned i = 0; i < HD_WAIT_SLOTS; i++) {
        start(&w[i], &word, 1, 20000);
    }
    wait_for_sleepers(before, HD_WAIT_SLOTS);
    uint64_t start_ns = hd_os_now_ns();
    assert_int_equal(hd_wait_until_woken(&more, 1, start_ns + HD_NS_PER_S, false), -EINTR);
    assert_true(hd_os_now_ns() - start_ns >= HD_NS_PER_MS / 2);
    assert_int_equal(hd_wait_until_woken(&more, 1, start_ns, false), -ETIMEDOUT);
    assert_int_equal(hd_wait_wake(&word, INT_MAX, false), HD_WAIT_SLOTS);
    for (unsigned i = 0; i < HD_WAIT_SLOTS; i++) {
        assert_int_equal(end(&w[i]), 0);
    }
}

static void a_shared_word_is_polled(void **state) {
    uint32_t word = 1, before = atomic_load(&signals);
    (void)state;
    assert_int_equal(hd_wait_until_woken(&word, 1, hd_os_now_ns() + HD_NS_PER_S, true), -EINTR);
    assert_int_equal(atomic_load(&signals), before);
}

/* First, so that no slot has a semaphore yet. */
static void without_semaphores_a_wait_returns(void **state) {
    uint32_t word = 1;
    (void)state;
    atomic_store(&refuse, true);
    assert_int_equal(hd_wait_until_woken(&word, 1, hd_os_now_ns() + HD_NS_PER_S, false), -EINTR);
    assert_int_equal(hd_wait_wake(&word, 1, false), 0);
    atomic_store(&refuse, false);
}

static void a_child_starts_with_an_empty_table(void **state) {
    uint32_t word = 1;
    (void)state;
    uint32_t before = atomic_load(&made);
    hd_wait_forget();
    assert_int_equal(hd_wait_until_woken(&word, 1, hd_os_now_ns() + HD_NS_PER_MS, false), -ETIMEDOUT);
    assert_int_equal(atomic_load(&made), before + 1); /* the parent's semaphores are not the child's */
}

/* ---- the order ------------------------------------------------------------------------------------- */

static uint32_t *guarded; /* its page cannot be read at first */
static _Atomic int woken_at_load;

static void wake_at_load(int signal) {
    (void)signal;
    atomic_store(&woken_at_load, hd_wait_wake(guarded, 1, false));
    (void)mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

/* A waker that comes when the waiter loads the word finds the waiter in the table. */
static void a_waiter_is_in_the_table_before_it_loads_the_word(void **state) {
    struct sigaction action = {.sa_handler = wake_at_load}, before;
    (void)state;
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guarded, MAP_FAILED);
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    int rc = hd_wait_until_woken(guarded, 0, hd_os_now_ns() + HD_NS_PER_S, false);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(atomic_load(&woken_at_load), 1);
    assert_int_equal(rc, 0);
    (void)munmap(guarded, 4096);
}

/* ---- no wake-up is lost --------------------------------------------------------------------------- */

#define ROUNDS 20000u

static uint32_t turn; /* even: the first thread's, odd: the second's */
static _Atomic bool lost;

static void play(uint32_t mine) {
    uint64_t until_ns = hd_os_now_ns() + 60 * HD_NS_PER_S;
    for (uint32_t round = 0; round < ROUNDS && !atomic_load(&lost); round++) {
        uint32_t now;
        while ((now = __atomic_load_n(&turn, __ATOMIC_RELAXED)) % 2 != mine && !atomic_load(&lost)) {
            if (hd_wait_until_woken(&turn, now, until_ns, false) == -ETIMEDOUT) {
                atomic_store(&lost, true);
            }
        }
        __atomic_store_n(&turn, now + 1, __ATOMIC_RELAXED);
        hd_wait_wake(&turn, 1, false);
    }
}

static void *play_second(void *unused) {
    (void)unused;
    play(1);
    return NULL;
}

/* Other threads come and go in the slots meanwhile. */
static void *disturb(void *of) {
    uint32_t *stop = of, word = 1;
    while (__atomic_load_n(stop, __ATOMIC_RELAXED) == 0) {
        hd_wait_until_woken(&word, 1, hd_os_now_ns() + 20 * HD_NS_PER_US, false);
    }
    return NULL;
}

static void no_wake_up_is_lost(void **state) {
    pthread_t second, others[2];
    static uint32_t stop;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&others[i], NULL, disturb, &stop), 0);
    }
    assert_int_equal(pthread_create(&second, NULL, play_second, NULL), 0);
    play(0);
    pthread_join(second, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(others[i], NULL);
    }
    assert_false(atomic_load(&lost));
    assert_int_equal(turn, 2 * ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_semaphores_a_wait_returns),
        cmocka_unit_test(a_word_with_another_value_is_not_waited_for),
        cmocka_unit_test(a_wait_ends_at_its_time),
        cmocka_unit_test(a_waker_wakes_as_many_as_it_may),
        cmocka_unit_test(a_late_signal_ends_no_other_wait),
        cmocka_unit_test(threads_beyond_the_table_poll),
        cmocka_unit_test(a_shared_word_is_polled),
        cmocka_unit_test(a_waiter_is_in_the_table_before_it_loads_the_word),
        cmocka_unit_test(no_wake_up_is_lost),
        cmocka_unit_test(a_child_starts_with_an_empty_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
