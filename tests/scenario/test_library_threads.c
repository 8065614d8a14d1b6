/* SPDX-License-Identifier: MIT
 *
 * What a report tells of the other threads, where there are many of them: who runs and how much, who ends
 * meanwhile, who waits and cannot be looked at, and whom there is no room or no time for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "library.h"
#include "os/os.h"

#define T THRESHOLD_MS
#define SLEEPERS 150
#define AHEAD \
    20 /* of them are listed before the threads that something is told of: in time on a busy machine */
#define TRIES 10
#define ROOM 256u
#define MOST 300u

static size_t hangs; /* so far */
static struct hd_os_calls real;

/* ---- the threads ---------------------------------------------------------------------------------- */

struct one {
    pthread_t thread;
    _Atomic int tid;
    sem_t end;
    bool spins, owns;
};

static struct one sleeper[SLEEPERS], spinner, leaver, closed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *arg) {
    struct one *o = arg;
    if (o->owns) {
        pthread_mutex_lock(&mutex);
    }
    atomic_store(&o->tid, gettid());
    while ((o->spins ? sem_trywait(&o->end) : sem_wait(&o->end)) != 0) {
    }
    if (o->owns) {
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

/* Once it is told, and listed behind those that were before. */
static void start(struct one *o) {
    pthread_attr_t small;
    atomic_store(&o->tid, 0);
    sem_init(&o->end, 0, 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    assert_int_equal(pthread_create(&o->thread, &small, run, o), 0);
    pthread_attr_destroy(&small);
    while (atomic_load(&o->tid) == 0) {
        nap_ms(1);
    }
}

static void stop(struct one *o) {
    sem_post(&o->end);
    assert_int_equal(pthread_join(o->thread, NULL), 0);
}

/* ---- one hang after the other --------------------------------------------------------------------- */

/* Each unlike the one before, which has all threads told then. A new reference. */
static json_t *next_hang(void) {
    looper_call(&looper, hangs % 2 == 0 ? block_sleep : block_sleep_other, 2 * T);
    json_t *all = spool_wait(&spool, NULL, ++hangs);
    json_t *hang = json_incref(json_array_get(all, hangs - 1));
    json_decref(all);
    return hang;
}

/* NULL: left out, for 25 ms were over. */
static const json_t *thread_of(const json_t *report, const struct one *o) {
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        if (json_integer_value(json_object_get(json_array_get(threads, i), "tid")) == atomic_load(&o->tid)) {
            return json_array_get(threads, i);
        }
    }
    return NULL;
}

static double share_of(const json_t *report, const struct one *o) {
    const json_t *share = json_object_get(thread_of(report, o), "cpu_percent");
    return share != NULL ? json_number_value(share) : -1;
}

/* ---- who runs ------------------------------------------------------------------------------------- */

/* The truth: when the spinner's clock was read, and what it said. Sometimes it says nothing. */
static atomic_bool fails;
static struct {
    _Atomic uint64_t at_ns, cpu_ns;
} first, last;

static int read_clock(uint64_t tid, uint64_t *ns) {
    bool yes = true;
    if ((int)tid != atomic_load(&spinner.tid)) {
        return real.thread_cpu_clock(tid, ns);
    }
    if (atomic_compare_exchange_strong(&fails, &yes, false)) {
        return -EINVAL;
    }
    atomic_store(&last.at_ns, now_ns());
    int rc = real.thread_cpu_clock(tid, ns);
    atomic_store(&last.cpu_ns, *ns);
    uint64_t before = atomic_load(&first.at_ns);
    if (before == 0 || last.at_ns - before < 2 * MS) { /* it may be read anew at once */
        atomic_store(&first.at_ns, last.at_ns);
        atomic_store(&first.cpu_ns, last.cpu_ns);
    }
    return rc;
}

/* Tried again where there was no time to get to it, or to read two clocks at once. */
static void writes_the_cpu_share_of_a_running_thread(void **state) {
    (void)state;
    double share = -1;
    bool right = false;
    for (unsigned i = 0; i < TRIES && !right; i++) {
        atomic_store(&first.at_ns, 0);
        json_t *hang = next_hang();
        double reported = share_of(hang, &spinner), between = (double)(last.at_ns - first.at_ns);
        if (reported >= 0) {
            double truth = 100 * (double)(last.cpu_ns - first.cpu_ns) / between;
            right = reported > 0.85 * truth - 2 && reported < 1.15 * truth + 2 && reported <= 100;
            share = reported;
            assert_string_equal(report_text(thread_of(hang, &spinner), "state"), "running");
        }
        json_decref(hang);
    }
    if (share < 0) {
        print_message("not within 25 ms, as often as it was tried\n");
        skip();
    }
    assert_true(right);
}

static uint64_t process_cpu_ns(void) {
    struct timespec ts;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts), 0);
    return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

/* All threads' time, of one processor's: the loop sleeps, the spinner runs. The report's begins somewhat
 * later, and is not short of what ran then. */
static void writes_the_cpu_share_of_the_process(void **state) {
    (void)state;
    uint64_t ran_ns = process_cpu_ns(), took_ns = now_ns();
    looper_call(&looper, block_sleep, 6 * T);
    ran_ns = process_cpu_ns() - ran_ns;
    took_ns = now_ns() - took_ns;
    json_t *all = spool_wait(&spool, NULL, ++hangs);
    const json_t *process = json_object_get(json_array_get(all, 0), "process");
    double reported = json_number_value(json_object_get(process, "cpu_percent"));
    double truth = 100 * (double)ran_ns / (double)took_ns;
    assert_true(truth > 5);
    assert_true(reported > truth / 2 && reported < 2 * truth);
    json_decref(all);
}

static void what_a_hang_before_saw_is_no_share_of_this_one(void **state) {
    (void)state;
    double share = -1;
    for (unsigned i = 0; i < TRIES && share < 0; i++) {
        json_t *hang = next_hang();
        share = share_of(hang, &spinner);
        json_decref(hang);
    }
    atomic_store(&fails, true);
    for (unsigned i = 0; i < TRIES && atomic_load(&fails); i++) {
        json_t *hang = next_hang();
        assert_true(share_of(hang, &spinner) < 0);
        json_decref(hang);
    }
    atomic_store(&fails, false);
}

/* ---- who cannot be looked at ---------------------------------------------------------------------- */

static bool is_file_of(const char *path, const struct one *o, const char *file) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%d/", atomic_load(&o->tid));
    const char *at = strstr(path, prefix);
    return at != NULL && (at == path || at[-1] == '/') && strcmp(at + strlen(prefix), file) == 0;
}

static atomic_bool strange, slow;

/* Threads that came after a program gave up its rights have such files. And a thread may end after it was
 * listed. */
static int open_at(int dir, const char *path, int flags, int mode) {
    if (atomic_load(&strange) && is_file_of(path, &closed, "syscall")) {
        return -EACCES;
    }
    if (!atomic_load(&strange) && is_file_of(path, &closed, "comm")) {
        nap_ms(10); /* the spinner comes next: of the 20 ms to its second look half are over */
    }
    if (atomic_load(&strange) && is_file_of(path, &leaver, "comm")) {
        sem_post(&leaver.end);
        while (real.signal_thread(getpid(), atomic_load(&leaver.tid), 0, 0) == 0) {
            nap_ms(1);
        }
    }
    size_t n = strlen(path);
    if (atomic_load(&slow) && n > 5 && strcmp(path + n - 5, "/comm") == 0) {
        nap_ms(1);
    }
    return real.open_at(dir, path, flags, mode);
}

static void whose_call_is_closed_to_us_waits_all_the_same_and_who_has_ended_is_gone(void **state) {
    (void)state;
    const json_t *gone = NULL;
    atomic_store(&strange, true);
    for (unsigned i = 0; i < TRIES && gone == NULL; i++) {
        json_t *hang = next_hang();
        const json_t *shut = thread_of(hang, &closed);
        gone = thread_of(hang, &leaver);
        if (gone != NULL) {
            assert_non_null(shut);
            assert_string_equal(report_text(shut, "state"), "blocked");
            assert_string_equal(report_text(shut, "error"), "permission denied");
            assert_null(json_object_get(shut, "cpu_percent"));
            assert_string_equal(report_text(gone, "state"), "gone");
            assert_string_equal(report_text(gone, "error"), "the thread has ended");
        }
        json_decref(hang);
    }
    if (gone == NULL) {
        print_message("not within 25 ms, as often as it was tried\n");
        skip();
    }
}

/* ---- more of them than there is room or time for --------------------------------------------------- */

static void of_more_threads_than_there_is_room_for_the_rest_are_counted(void **state) {
    (void)state;
    static struct one more[MOST - SLEEPERS];
    for (size_t i = 0; i < MOST - SLEEPERS; i++) {
        start(&more[i]);
    }
    json_t *hang = next_hang();
    size_t reported = json_array_size(json_object_get(hang, "threads"));
    uint64_t left = report_ns(hang, "threads_left_out");
    uint64_t all = report_ns(json_object_get(hang, "process"), "thread_count");
    assert_true(reported > 0 && reported <= ROOM);
    assert_true(all > MOST && left >= all - ROOM);
    assert_true(reported + left == all ||
                reported + left + 1 == all); /* the loop's own may be told by its samples */
    json_decref(hang);
    for (size_t i = 0; i < MOST - SLEEPERS; i++) {
        stop(&more[i]);
    }
}

static void take_the_mutex(uint64_t unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

/* It was made after all the others, and each of those takes a while. */
static void the_owner_of_a_lock_comes_first_and_whom_there_is_no_time_for_is_counted(void **state) {
    (void)state;
    if (SANITIZED) {
        skip(); /* whose mutexes are not glibc's innermost function */
    }
    static struct one owner = {.owns = true};
    start(&owner);
    atomic_store(&slow, true);
    looper_post(&looper, take_the_mutex, 0);
    spool_wait_for_one(&spool);
    stop(&owner);
    looper_wait(&looper);
    json_t *all = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(all, 0), *reported = thread_of(hang, &owner);
    assert_int_equal(report_ns(json_object_get(hang, "cause"), "lock_owner_tid"), atomic_load(&owner.tid));
    assert_non_null(reported);
    assert_true(json_array_size(json_object_get(json_object_get(reported, "stack"), "frames")) > 2);
    assert_true(report_ns(hang, "threads_left_out") > 0);
    json_decref(all);
}

/* ---- set-up ------------------------------------------------------------------------------------- */

static int begin(void **state) {
    (void)state;
    hangs = 0;
    atomic_store(&strange, false);
    atomic_store(&slow, false);
    hd_os.open_at = open_at;
    hd_os.thread_cpu_clock = read_clock;
    spool_make(&spool);
    library_start(&spool);
    looper_start(&looper, "main", 0);
    for (int i = 0; i < SLEEPERS; i++) {
        if (i == AHEAD) {
            start(&closed);
            start(&leaver);
            start(&spinner);
        }
        start(&sleeper[i]);
    }
    return 0;
}

static int end(void **state) {
    (void)state;
    looper_stop(&looper);
    hangdog_stop();
    hd_os = real;
    for (int i = 0; i < SLEEPERS; i++) {
        stop(&sleeper[i]);
    }
    stop(&closed);
    stop(&leaver);
    stop(&spinner);
    spool_remove(&spool);
    return 0;
}

int main(void) {
    library_quick_disk();
    spinner.spins = true;
    hd_os_clock_init();
    real = hd_os;
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(writes_the_cpu_share_of_a_running_thread),
        CASE(writes_the_cpu_share_of_the_process),
        CASE(what_a_hang_before_saw_is_no_share_of_this_one),
        CASE(whose_call_is_closed_to_us_waits_all_the_same_and_who_has_ended_is_gone),
        CASE(of_more_threads_than_there_is_room_for_the_rest_are_counted),
        CASE(the_owner_of_a_lock_comes_first_and_whom_there_is_no_time_for_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
