/* SPDX-License-Identifier: MIT
 *
 * The watch of a process where its begin and its end cross what other threads do: those that are watched for
 * their names, and those that install a filter. Each test is a process of its own, which is watched once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/watched_thread.h"
#include "control/instance.h"
#include "library.h"
#include "preload/attach/attach.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/attach_stop.h"
#include "preload/waits/recognition.h"

#define NAME "named"

static struct hd_record record;
static void *(*real_map)(void *, size_t, int, int, int, uint64_t);

static int filters_here(void) {
    char line[256];
    int filters = 0;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "Seccomp_filters:", 16) == 0) {
            filters = (int)strtol(line + 16, NULL, 10);
        }
    }
    fclose(status);
    return filters;
}

static int begin(void **state) {
    begin_spool(state);
    library_quick_disk();
    struct hd_record_options *o = &record.options;
    record.magic = HD_RECORD_MAGIC;
    record.bytes = sizeof record;
    o->interval_ns = INTERVAL_MS * MS;
    o->threshold_ns = o->launch_threshold_ns = 60 * SECOND;
    o->started_ns = now_ns();
    o->seccomp_filters = filters_here();
    snprintf(o->spool, sizeof o->spool, "%s", spool.path);
    o->threads = 1;
    snprintf(o->thread[0], sizeof o->thread[0], NAME);
    real_map = hd_os.map;
    return 0;
}

static int end(void **state) {
    (void)state;
    hd_instance_stop();
    spool_remove(&spool);
    return 0;
}

/* ---- a thread that is watched for its name ----------------------------------------------------- */

struct named {
    pthread_t thread;
    atomic_bool waits, pauses, leaves;
    struct hd_wait_table *_Atomic watched_by; /* after its last wait */
};

static void *be_named(void *of) {
    struct named *n = of;
    while (!atomic_load(&n->leaves)) {
        if (atomic_load(&n->waits)) {
            atomic_store(&n->pauses, false);
            poll(NULL, 0, 1);
            atomic_store(&n->watched_by, hd_wait_table_self);
        } else {
            atomic_store(&n->pauses, true);
            nap_ms(1);
        }
    }
    return NULL;
}

static void named_begin(struct named *n) {
    assert_int_equal(pthread_create(&n->thread, NULL, be_named, n), 0);
    assert_int_equal(pthread_setname_np(n->thread, NAME), 0);
    atomic_store(&n->waits, true);
}

static bool is_watched(void *of) {
    struct named *n = of;
    const struct hd_wait_table *by = atomic_load(&n->watched_by);
    return by != NULL && by->watch != NULL;
}

static void named_pauses(struct named *n) {
    atomic_store(&n->waits, false);
    while (!atomic_load(&n->pauses)) {
        nap_ms(1);
    }
}

static void named_end(struct named *n) {
    atomic_store(&n->leaves, true);
    assert_int_equal(pthread_join(n->thread, NULL), 0);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static bool on_the_main_thread(void) {
    return gettid() == getpid();
}

static void *no_memory_for_the_main_thread(void *addr, size_t n, int prot, int flags, int fd,
                                           uint64_t offset) {
    return n == hd_capture_thread_bytes() && on_the_main_thread()
               ? MAP_FAILED
               : real_map(addr, n, prot, flags, fd, offset);
}

static bool was_looked_at(void *of) {
    struct named *n = of;
    return atomic_load(&atomic_load(&n->watched_by)->recognition->progress.judged_ns) != 0;
}

static void a_named_thread_is_recognised_where_there_was_no_memory_to_watch_the_main_one(void **state) {
    static struct named one;
    (void)state;
    hd_os.map = no_memory_for_the_main_thread;
    hd_attach_begin(&record, false);
    assert_int_not_equal(hd_attach_own_thread(), 0);
    assert_null(hd_wait_table_self->watch);
    named_begin(&one);
    assert_true(wait_for(is_watched, &one));
    assert_true(wait_for(was_looked_at, &one));
    named_end(&one);
}

/* The watch was ended as unshare does that: the main thread's next wait begins it anew. */
static void begin_anew(void) {
    assert_int_equal(hd_attach_own_thread(), 0);
    poll(NULL, 0, 0);
    assert_int_not_equal(hd_attach_own_thread(), 0);
}

static void a_thread_of_the_watch_before_says_nothing_of_the_next_ones_loops_when_it_ends(void **state) {
    static struct named before, next;
    (void)state;
    hd_attach_begin(&record, false);
    named_begin(&before);
    assert_true(wait_for(is_watched, &before));
    named_pauses(&before);
    assert_true(hd_attach_end_threads());
    begin_anew();
    named_begin(&next);
    assert_true(wait_for(is_watched, &next));
    named_pauses(&next);
    /* The next one's, too; but where the machine was too slow for the stop, whose memory is not used again.
     */
    const struct hd_loop *loop = atomic_load(&before.watched_by)->loop;
    named_end(&before);
    assert_int_not_equal(hd_loop_activity(loop, atomic_load(&loop->word)), HANGDOG_EXIT);
    named_end(&next);
}

static atomic_bool is_adding, may_add;

static bool adds(void *unused) {
    (void)unused;
    return atomic_load(&is_adding);
}

/* Once: another thread than the main one is held up while it begins to be watched. */
static void *delayed(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset) {
    bool begins = n == hd_capture_thread_bytes() && !on_the_main_thread();
    if (begins && !atomic_exchange(&is_adding, true)) {
        while (!atomic_load(&may_add)) {
            nap_ms(1);
        }
    }
    return real_map(addr, n, prot, flags, fd, offset);
}

static void a_thread_that_begins_to_be_watched_while_the_watch_ends_is_not_of_the_next_one(void **state) {
    static struct named one, next;
    (void)state;
    hd_os.map = delayed;
    hd_attach_begin(&record, false);
    named_begin(&one);
    assert_true(wait_for(adds, NULL));
    assert_true(hd_attach_end_threads());
    atomic_store(&may_add, true);
    named_pauses(&one);
    begin_anew();
    named_begin(&next);
    assert_true(wait_for(is_watched, &next));
    named_pauses(&next);
    struct hd_wait_table *by = atomic_load(&one.watched_by);
    assert_true(by == NULL || by->watch != atomic_load(&next.watched_by)->watch);
    atomic_store(&one.waits, true); /* and by that one it is watched at its next waits */
    assert_true(wait_for(is_watched, &one));
    by = atomic_load(&one.watched_by);
    assert_ptr_not_equal(by->watch, atomic_load(&next.watched_by)->watch);
    named_end(&one);
    named_end(&next);
}

/* ---- a filter of another thread ------------------------------------------------------------------ */

static void *install_filter(void *unused) {
    (void)unused;
    hd_attach_before_filter();
    return NULL;
}

/* Once: before the main thread has this much memory, another one is about to install a filter. */
static size_t filter_comes_before;

static void another_thread_installs(void) {
    pthread_t other;
    filter_comes_before = 0;
    assert_int_equal(pthread_create(&other, NULL, install_filter, NULL), 0);
    assert_int_equal(pthread_join(other, NULL), 0);
}

static void *filter_comes_first(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset) {
    if (n == filter_comes_before && on_the_main_thread()) {
        another_thread_installs();
    }
    return real_map(addr, n, prot, flags, fd, offset);
}

/* The same, before the main thread gives that back. */
static int (*real_unmap)(void *addr, size_t n);

static int filter_comes_first_of_all(void *addr, size_t n) {
    if (n == filter_comes_before && on_the_main_thread()) {
        another_thread_installs();
    }
    return real_unmap(addr, n);
}

static void assert_not_watched(void) {
    assert_int_equal(filter_comes_before, 0);
    assert_null(hd_run_current());
    assert_null(hd_attach_before_exec());
    assert_int_equal(record.status.unwatched, HD_UNWATCHED_FILTER);
}

static void a_filter_that_comes_while_the_watch_begins_ends_it(void **state) {
    (void)state;
    filter_comes_before = hd_capture_thread_bytes();
    hd_os.map = filter_comes_first;
    hd_attach_begin(&record, false);
    assert_not_watched();
}

static void a_filter_that_comes_while_the_watch_ends_lets_none_begin(void **state) {
    (void)state;
    real_unmap = hd_os.unmap;
    hd_os.unmap = filter_comes_first_of_all;
    hd_attach_begin(&record, false);
    filter_comes_before = hd_capture_thread_bytes();
    assert_true(hd_attach_end_threads());
    poll(NULL, 0, 0);
    assert_not_watched();
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_named_thread_is_recognised_where_there_was_no_memory_to_watch_the_main_one),
        CASE(a_thread_of_the_watch_before_says_nothing_of_the_next_ones_loops_when_it_ends),
        CASE(a_thread_that_begins_to_be_watched_while_the_watch_ends_is_not_of_the_next_one),
        CASE(a_filter_that_comes_while_the_watch_begins_ends_it),
        CASE(a_filter_that_comes_while_the_watch_ends_lets_none_begin),
    };
    return run_side_by_side(tests, sizeof tests / sizeof tests[0]);
}
