/* SPDX-License-Identifier: MIT
 *
 * Who owns the mutex that a loop waits for, where that changes in mid-hang; and which threads are told to be
 * in a deadlock: those that are, and none that only pass locks on. And whose end a loop waits for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "library.h"

#define T THRESHOLD_MS

static pthread_mutex_t mutex[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                   PTHREAD_MUTEX_INITIALIZER};
static atomic_int owner[2]; /* thread ids: who has taken what the test waits for */

static bool is_taken(void *by) {
    return atomic_load((atomic_int *)by) != 0;
}

static bool is_in_futex(void *tid) {
    char path[64], text[16] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", atomic_load((atomic_int *)tid));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    (void)!fgets(text, sizeof text, file);
    fclose(file);
    return atoi(text) == SYS_futex; // NOLINT(cert-err34-c): "running" is no number
}

static int begin(void **state) {
    atomic_store(&owner[0], 0);
    atomic_store(&owner[1], 0);
    begin_library(state);
    looper_start(&looper, "main", 0);
    return 0;
}

__attribute__((noinline)) static void wait_for_mutex(uint64_t i) {
    pthread_mutex_lock(&mutex[i]);
    pthread_mutex_unlock(&mutex[i]);
}

/* ---- the owner ------------------------------------------------------------------------------------ */

static atomic_bool let_go;

static void *lock_first(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex[0]);
    atomic_store(&owner[0], gettid());
    while (!atomic_load(&let_go)) {
        nap_ms(1);
    }
    block_sleep(2 * T);
    pthread_mutex_unlock(&mutex[0]);
    return NULL;
}

static void *lock_second(void *unused) {
    (void)unused;
    atomic_store(&owner[1], gettid());
    pthread_mutex_lock(&mutex[0]);
    block_sleep(5 * T);
    pthread_mutex_unlock(&mutex[0]);
    return NULL;
}

static void names_the_owner_that_kept_the_lock_longest(void **state) {
    (void)state;
    if (SANITIZED) {
        looper_stop(&looper);
        skip(); /* their mutexes are not glibc's innermost function */
    }
    pthread_t first, then;
    atomic_store(&let_go, false);
    assert_int_equal(pthread_create(&first, NULL, lock_first, NULL), 0);
    assert_true(wait_for(is_taken, &owner[0]));
    assert_int_equal(pthread_create(&then, NULL, lock_second, NULL), 0);
    assert_true(wait_for(is_taken, &owner[1]));
    assert_true(wait_for(is_in_futex, &owner[1])); /* it is the first in the queue */
    looper_post(&looper, wait_for_mutex, 0);
    atomic_store(&let_go, true);
    looper_wait(&looper);
    assert_int_equal(pthread_join(first, NULL), 0);
    assert_int_equal(pthread_join(then, NULL), 0);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *cause = json_object_get(json_array_get(hangs, 0), "cause");
    assert_int_equal(report_ns(cause, "lock_owner_tid"), atomic_load(&owner[1]));
    assert_non_null(strstr(report_text(cause, "detail"), " held by several threads, longest by thread "));
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- another thread's end ------------------------------------------------------------------------- */

static void *naps(void *unused) {
    (void)unused;
    atomic_store(&owner[0], gettid());
    nap_ms(3 * T);
    return NULL;
}

__attribute__((noinline)) static void join_one_that_naps(uint64_t ms) {
    pthread_t thread;
    (void)ms;
    assert_int_equal(pthread_create(&thread, NULL, naps, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* As a lock of the program's own may have it: no descriptor of a thread is around it. */
static uint32_t made_up[512];

__attribute__((noinline)) static void wait_for_made_up_number(uint64_t ms) {
    struct timespec for_ms = {.tv_nsec = (long)(ms * MS)};
    made_up[256] = (uint32_t)gettid();
    (void)syscall(SYS_futex, &made_up[256], FUTEX_WAIT_PRIVATE, made_up[256], &for_ms, NULL, 0);
}

static void names_the_thread_whose_end_is_awaited(void **state) {
    (void)state;
    looper_call(&looper, join_one_that_naps, 0);
    looper_call(&looper, wait_for_made_up_number, 3 * T);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    const json_t *joined = json_object_get(json_array_get(hangs, 0), "cause"),
                 *other = json_object_get(json_array_get(hangs, 1), "cause");
    char expected[64];
    snprintf(expected, sizeof expected, "waited for thread %d to end", atomic_load(&owner[0]));
    if (!SANITIZED) { /* theirs joins in its own way */
        assert_memory_equal(report_text(joined, "detail"), expected, strlen(expected));
    }
    assert_string_equal(report_text(joined, "kind"), "lock");
    assert_null(json_object_get(joined, "lock_owner_tid")); /* it owns nothing */
    assert_memory_equal(report_text(other, "detail"), "waited for a condition or lock, owner unknown",
                        strlen("waited for a condition or lock, owner unknown"));
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- no deadlock ---------------------------------------------------------------------------------- */

#define CONVOY 12
#define ROUNDS 12

/* Each has the second mutex for an instant, in turn; the first of them has the first one all the time. */
static void *in_a_convoy(void *has_first) {
    if (has_first != NULL) {
        pthread_mutex_lock(&mutex[0]);
        atomic_store(&owner[0], gettid());
    }
    struct timespec instant = {.tv_nsec = 100000};
    while (!atomic_load(&let_go)) {
        pthread_mutex_lock(&mutex[1]);
        nanosleep(&instant, NULL);
        pthread_mutex_unlock(&mutex[1]);
        nanosleep(&instant, NULL);
    }
    if (has_first != NULL) {
        pthread_mutex_unlock(&mutex[0]);
    }
    return NULL;
}

static size_t expected;

static bool has_expected(void *unused) {
    (void)unused;
    return spool_count(&spool) >= expected;
}

static void who_passes_a_lock_on_is_in_no_deadlock(void **state) {
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t thread[CONVOY];
        atomic_store(&let_go, false);
        atomic_store(&owner[0], 0);
        for (unsigned i = 0; i < CONVOY; i++) {
            assert_int_equal(pthread_create(&thread[i], NULL, in_a_convoy, i == 0 ? &let_go : NULL), 0);
        }
        assert_true(wait_for(is_taken, &owner[0]));
        looper_post(&looper, wait_for_mutex, 0);
        expected = round + 1;
        assert_true(wait_for(has_expected, NULL));
        json_t *hangs = spool_reports(&spool, NULL, false); /* as it was written when the hang opened */
        for (size_t i = 0; i < json_array_size(hangs); i++) {
            const json_t *cause = json_object_get(json_array_get(hangs, i), "cause");
            assert_null(json_object_get(cause, "deadlock"));
        }
        json_decref(hangs);
        atomic_store(&let_go, true);
        looper_wait(&looper);
        for (unsigned i = 0; i < CONVOY; i++) {
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        }
        json_decref(spool_wait(&spool, NULL, expected));
    }
    looper_stop(&looper);
}

/* Waited for it, and has it when the hang opens: now the other one waits. */
static void take_and_keep(uint64_t unused) {
    (void)unused;
    pthread_mutex_lock(&mutex[0]);
    atomic_store(&owner[1], gettid());
    while (!atomic_load(&let_go)) {
        nap_ms(1);
    }
    pthread_mutex_unlock(&mutex[0]);
}

static void *give_and_wait(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex[0]);
    atomic_store(&owner[0], gettid());
    nap_ms(T - T / 4);
    pthread_mutex_unlock(&mutex[0]);
    while (atomic_load(&owner[1]) == 0) {
        nap_ms(1);
    }
    wait_for_mutex(0);
    return NULL;
}

static void who_waits_for_what_the_loop_took_over_is_in_no_deadlock_with_it(void **state) {
    (void)state;
    pthread_t thread;
    atomic_store(&let_go, false);
    assert_int_equal(pthread_create(&thread, NULL, give_and_wait, NULL), 0);
    assert_true(wait_for(is_taken, &owner[0]));
    looper_post(&looper, take_and_keep, 0);
    spool_wait_for_one(&spool);
    json_t *hangs = spool_reports(&spool, NULL, false);
    assert_null(json_object_get(json_object_get(json_array_get(hangs, 0), "cause"), "deadlock"));
    json_decref(hangs);
    atomic_store(&let_go, true);
    looper_wait(&looper);
    assert_int_equal(pthread_join(thread, NULL), 0);
    json_decref(spool_wait(&spool, NULL, 1));
    looper_stop(&looper);
}

/* ---- a deadlock ----------------------------------------------------------------------------------- */

static pthread_barrier_t each_has_one;
static uint64_t ring, works_ms; /* what the loop does between its two */

/* The mutex of its number, then the next one's. */
__attribute__((noinline)) static void take_two(uint64_t i) {
    pthread_mutex_lock(&mutex[i]);
    pthread_barrier_wait(&each_has_one);
    block_spin(i == 0 ? works_ms : 0);
    pthread_mutex_lock(&mutex[(i + 1) % ring]);
    __asm__ volatile("");
}

static void *take_first(void *unused) {
    (void)unused;
    wait_for_mutex(0);
    return NULL;
}

static void *take_two_for_ever(void *i) {
    take_two((uint64_t)(uintptr_t)i);
    return NULL;
}

/* Joins one that waits for what the loop has. */
__attribute__((noinline)) static void join_who_waits_for_us(uint64_t unused) {
    pthread_t thread;
    (void)unused;
    pthread_mutex_lock(&mutex[0]);
    assert_int_equal(pthread_create(&thread, NULL, take_first, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static int join_role(void) {
    library_start(&spool);
    looper_start(&looper, "main", 0);
    looper_call(&looper, join_who_waits_for_us, 0);
    return 0;
}

static int ring_role(uint64_t length, uint64_t ms) {
    pthread_t thread;
    ring = length;
    works_ms = ms;
    pthread_barrier_init(&each_has_one, NULL, (unsigned)ring);
    library_start(&spool);
    looper_start(&looper, "main", 0);
    for (uintptr_t i = 1; i < ring; i++) {
        assert_int_equal(pthread_create(&thread, NULL, take_two_for_ever, (void *)i), 0);
    }
    looper_call(&looper, take_two, 0);
    return 0;
}

static size_t newest;

static bool has_deadlock(void *unused) {
    (void)unused;
    json_t *hangs = spool_reports(&spool, NULL, false);
    const json_t *cause = json_object_get(json_array_get(hangs, newest), "cause");
    bool has = json_object_get(cause, "deadlock") != NULL;
    json_decref(hangs);
    return has;
}

/* When the hang opens, or where it closes later, when its report is written again. */
static void reports_a_deadlock(void **state) {
    static const struct {
        const char *role;
        size_t length;
    } rings[] = {{"ring-of-two", 2}, {"ring-of-three", 3}, {"ring-late", 2}, {"ring-joined", 2}};
    (void)state;
    if (SANITIZED) {
        skip();
    }
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        struct role role;
        role_start(&role, rings[i].role, &spool);
        newest = i;
        assert_true(wait_for(has_deadlock, NULL));
        kill(role.pid, SIGKILL);
        assert_int_equal(role_wait(&role), -SIGKILL);
        json_t *hangs = spool_reports(&spool, NULL, false);
        const json_t *cause = json_object_get(json_array_get(hangs, i), "cause");
        const json_t *deadlock = json_object_get(cause, "deadlock");
        assert_int_equal(json_array_size(deadlock), rings[i].length);
        assert_memory_equal(report_text(cause, "detail"), "deadlock: ", strlen("deadlock: "));
        json_decref(hangs);
    }
}

int main(int argc, char **argv) {
    library_quick_disk();
    if (argc == 3) {
        spool_open(&spool, argv[2]);
        if (strcmp(argv[1], "ring-joined") == 0) {
            return join_role();
        }
        return ring_role(strcmp(argv[1], "ring-of-three") == 0 ? 3 : 2,
                         strcmp(argv[1], "ring-late") == 0 ? 2 * T : 0);
    }
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end_library)
    const struct CMUnitTest tests[] = {
        CASE(names_the_owner_that_kept_the_lock_longest),
        CASE(names_the_thread_whose_end_is_awaited),
        CASE(who_passes_a_lock_on_is_in_no_deadlock),
        CASE(who_waits_for_what_the_loop_took_over_is_in_no_deadlock_with_it),
        cmocka_unit_test_setup_teardown(reports_a_deadlock, begin_spool, end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
