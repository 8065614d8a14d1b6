/* SPDX-License-Identifier: MIT
 *
 * A loop that hangs with a lock held that everybody needs, malloc's, the loader's, stdio's, or with every
 * signal blocked, is reported while it hangs: none of the library's threads waits for any of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"

#define T THRESHOLD_MS

static atomic_bool seen; /* a report was there while the lock was held */

static int begin(void **state) {
    (void)state;
    spool_make(&spool);
    atomic_store(&seen, false);
    library_start(&spool);
    looper_start(&looper, "main", 0);
    return 0;
}

/* With whatever lock the caller holds: until a report is there, a minute at most. No allocation. */
__attribute__((noinline)) static void block_until_reported(uint64_t limit_ms) {
    uint64_t until = now_ns() + limit_ms * MS;
    while (now_ns() < until && !atomic_load(&seen)) {
        atomic_store(&seen, spool_count(&spool) > 0);
        nap_ms(5);
    }
    nap_ms(2 * T); /* and some more samples */
    __asm__ volatile("");
}

static json_t *one_hang(const char *cause) {
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_true(atomic_load(&seen));
    if (cause != NULL) {
        assert_string_equal(report_cause(json_array_get(hangs, 0)), cause);
    }
    return hangs;
}

/* ---- malloc --------------------------------------------------------------------------------------- */

/* This program's malloc has one lock, as an allocator may; who asks for memory meanwhile waits. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAS_LOCK 1
#define EXPORT __attribute__((visibility("default"), noinline))

static atomic_int holder;
static atomic_uint waited; /* allocations by the library's threads, or another's, while it was held */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static void pass(void) {
    while (atomic_load(&holder) != 0) {
        atomic_fetch_add(&waited, 1);
        nap_ms(1);
    }
}

EXPORT void *malloc(size_t n) {
    if (n == 12345) { /* the call that hangs inside */
        atomic_store(&holder, 1);
        block_until_reported(60000);
        atomic_store(&holder, 0);
    } else {
        pass();
    }
    return __libc_malloc(n);
}

EXPORT void *calloc(size_t n, size_t size) {
    pass();
    return __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t n) {
    pass();
    return __libc_realloc(p, n);
}

EXPORT void free(void *p) {
    pass();
    __libc_free(p);
}

static void in_malloc(uint64_t size) {
    void *p = malloc(size);
    __asm__ volatile("" : : "r"(p) : "memory");
    free(p);
}
#endif

static void inside_malloc(void **state) {
    (void)state;
#ifdef HAS_LOCK
    looper_call(&looper, in_malloc, 12345);
    assert_int_equal(atomic_load(&waited), 0);
    json_t *hangs = one_hang("sleep");
    assert_true(report_blames(json_array_get(hangs, 0), in_malloc));
    json_decref(hangs);
    looper_stop(&looper);
#else
    looper_stop(&looper);
    skip(); /* the sanitizer's own malloc */
#endif
}

/* ---- the loader ----------------------------------------------------------------------------------- */

static int with_the_loaders_lock(struct dl_phdr_info *info, size_t size, void *limit) {
    (void)info;
    (void)size;
    block_until_reported(*(uint64_t *)limit);
    return 1;
}

static void in_the_loader(uint64_t limit_ms) {
    dl_iterate_phdr(with_the_loaders_lock, &limit_ms);
    __asm__ volatile("");
}

static void inside_the_loader(void **state) {
    (void)state;
    looper_call(&looper, in_the_loader, 60000);
    json_t *hangs = one_hang(NULL);
    assert_true(report_blames(json_array_get(hangs, 0), in_the_loader));
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- stdio ---------------------------------------------------------------------------------------- */

static void in_stdio(uint64_t limit_ms) {
    flockfile(stdout);
    flockfile(stderr);
    block_until_reported(limit_ms);
    funlockfile(stderr);
    funlockfile(stdout);
}

static void inside_stdio(void **state) {
    (void)state;
    looper_call(&looper, in_stdio, 60000);
    json_t *hangs = one_hang("sleep");
    assert_true(report_blames(json_array_get(hangs, 0), in_stdio));
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- a lock of the program's own ------------------------------------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int owner_tid;

__attribute__((noinline)) static void keep_the_mutex(uint64_t ms) {
    pthread_mutex_lock(&mutex);
    atomic_store(&owner_tid, gettid());
    block_sleep_other(ms);
    pthread_mutex_unlock(&mutex);
}

static void *owner(void *arg) {
    (void)arg;
    keep_the_mutex(5 * T);
    return NULL;
}

__attribute__((noinline)) static void wait_for_the_mutex(uint64_t unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static const json_t *thread_of(const json_t *report, int tid) {
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        if (json_integer_value(json_object_get(json_array_get(threads, i), "tid")) == tid) {
            return json_array_get(threads, i);
        }
    }
    return NULL;
}

static bool is_taken(void *unused) {
    (void)unused;
    return atomic_load(&owner_tid) != 0;
}

static void writes_the_owner_of_a_mutex_and_its_stack(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, owner, NULL), 0);
    assert_true(wait_for(is_taken, NULL));
    looper_call(&looper, wait_for_the_mutex, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0);
    assert_string_equal(report_cause(hang), "lock");
    if (!SANITIZED) { /* whose mutexes are not glibc's innermost function */
        assert_int_equal(report_ns(json_object_get(hang, "cause"), "lock_owner_tid"),
                         atomic_load(&owner_tid));
    }
    const json_t *thread_record = thread_of(hang, atomic_load(&owner_tid));
    assert_non_null(thread_record);
    assert_true(json_array_size(json_object_get(json_object_get(thread_record, "stack"), "frames")) > 2);
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- a lock of a file, which another process holds --------------------------------------------------- */

static char locked[96];

__attribute__((noinline)) static void take_flock(uint64_t fd) {
    flock((int)fd, LOCK_EX);
    __asm__ volatile("");
}

__attribute__((noinline)) static void take_fcntl(uint64_t fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl((int)fd, F_SETLKW, &whole);
    __asm__ volatile("");
}

/* Until it ends. Its descriptor is its own: locks of flock belong to what was opened. */
static pid_t lock_in_another_process(void (*take)(uint64_t)) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        take((uint64_t)open(locked, O_RDWR));
        (void)!write(ready[1], "", 1);
        nap_ms(5 * T);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void names_the_file_of_a_file_lock(void **state) {
    static const struct {
        void (*take)(uint64_t);
        const char *said;
    } kinds[] = {{take_flock, "waited for a file lock in flock on queue.lock"},
                 {take_fcntl, "waited for a file lock in fcntl on queue.lock"}};
    (void)state;
    snprintf(locked, sizeof locked, "%s/queue.lock", spool.path);
    int fd = open(locked, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pid_t other = lock_in_another_process(kinds[i].take);
        looper_call(&looper, kinds[i].take, (uint64_t)fd);
        assert_int_equal(waitpid(other, NULL, 0), other);
        json_t *hangs = spool_wait(&spool, NULL, i + 1);
        const json_t *cause = json_object_get(json_array_get(hangs, i), "cause");
        assert_string_equal(report_text(cause, "kind"), "lock");
        assert_memory_equal(report_text(cause, "detail"), kinds[i].said, strlen(kinds[i].said));
        assert_string_equal(report_text(cause, "path"), "queue.lock");
        assert_null(json_object_get(cause, "lock_address"));
        json_decref(hangs);
    }
    close(fd);
    looper_stop(&looper);
}

/* ---- every signal blocked ------------------------------------------------------------------------- */

static void without_signals(uint64_t ms) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    block_spin(ms);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void with_every_signal_blocked(void **state) {
    (void)state;
    uint64_t took = looper_call(&looper, without_signals, 3 * T);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0);
    uint64_t reported_ns = report_ns(hang, "duration_ns");
    assert_true(reported_ns + 60 * MS > took && reported_ns < took + (SLOW ? 1000 : 60) * MS);
    const json_t *hot = json_object_get(hang, "hot_stack"); /* none, and why */
    assert_int_equal(json_array_size(json_object_get(hot, "frames")), 0);
    assert_string_equal(report_text(hot, "stop"), "no-answer");
    assert_string_equal(report_text(hot, "capture"), "kernel");
    json_decref(hangs);
    looper_stop(&looper);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end_library)
    const struct CMUnitTest tests[] = {
        CASE(inside_malloc),
        CASE(inside_the_loader),
        CASE(inside_stdio),
        CASE(writes_the_owner_of_a_mutex_and_its_stack),
        CASE(names_the_file_of_a_file_lock),
        CASE(with_every_signal_blocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
