/* SPDX-License-Identifier: MIT
 *
 * The capture method of Darwin with real threads, which the fake stops by a signal: a thread that owns
 * malloc's lock, two threads of ours that capture at the same time, and the start and the end of a watch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/watched_thread.h"
#include "fake_mach.h"
#include "os/darwin/thread_ports.h"
#include "os/os.h"

struct life {
    pthread_t thread;
    void *memory;
    struct hd_mailbox *mailbox;
    struct hd_target target;
    hd_thread_id id;
    uint64_t inside; /* an address on its stack */
    void (*body)(struct life *);
    uint32_t ready, stop, left;
};

static void wait_flag(const uint32_t *flag) {
    while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) == 0) {
        hd_os_nap(20 * HD_NS_PER_US);
    }
}

static void set_flag(uint32_t *flag) {
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

static void *live(void *arg) {
    struct life *l = arg;
    uint64_t here = 0;
    l->id = hd_thread_id_self();
    l->inside = (uint64_t)(uintptr_t)&here;
    fake_mach_add_self();
    if (hd_capture_thread_enter(l->memory, &l->mailbox) == 0) {
        set_flag(&l->ready);
        l->body(l);
        (void)hd_capture_thread_leave(l->mailbox);
        set_flag(&l->left);
    }
    return NULL;
}

static void start(struct life *l, void (*body)(struct life *)) {
    memset(l, 0, sizeof *l);
    l->body = body;
    l->memory = hd_os_memory_take(hd_capture_thread_bytes());
    assert_non_null(l->memory);
    assert_int_equal(pthread_create(&l->thread, NULL, live, l), 0);
    wait_flag(&l->ready);
    l->target = (struct hd_target){.watched = true, .mailbox = l->mailbox};
    assert_int_equal(hd_target_open(&l->target, l->id), 0);
}

static void end(struct life *l) {
    set_flag(&l->stop);
    pthread_join(l->thread, NULL);
    hd_target_close(&l->target);
    hd_capture_thread_closed(l->mailbox);
    hd_os_memory_give(l->memory, hd_capture_thread_bytes());
}

static void until_stop(struct life *l) {
    while (__atomic_load_n(&l->stop, __ATOMIC_SEQ_CST) == 0) {
    }
}

/* ---- malloc's lock ----------------------------------------------------------------------------- */

#if !HD_SANITIZED
/* This program's malloc has one lock for all threads, which it keeps while `keep` says so. */
static pthread_mutex_t malloc_lock = PTHREAD_MUTEX_INITIALIZER;
#define KEPT_BYTES 4321u /* the size of the block that the test thread allocates */
static uint32_t keep, kept;

void *__libc_malloc(size_t n);
void *malloc(size_t n) {
    pthread_mutex_lock(&malloc_lock);
    if (n == KEPT_BYTES) {
        set_flag(&kept);
        while (__atomic_load_n(&keep, __ATOMIC_SEQ_CST) != 0) {
        }
    }
    void *p = __libc_malloc(n);
    pthread_mutex_unlock(&malloc_lock);
    return p;
}

static void allocate(struct life *l) {
    void *volatile block = malloc(KEPT_BYTES);
    free(block);
    until_stop(l);
}

static void a_suspended_owner_of_mallocs_lock_does_not_stop_us(void **state) {
    (void)state;
    static struct life l;
    struct hd_capture c;
    fake_mach_reset();
    assert_int_equal(hd_capture_buffers(), 0);
    set_flag(&keep);
    start(&l, allocate);
    wait_flag(&kept);
    assert_int_not_equal(pthread_mutex_trylock(&malloc_lock), 0);
    alarm(20);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(hd_capture_take(&l.target, false, &c), 0);
        assert_int_equal(c.way, HD_WAY_SUSPENDED);
        assert_true(c.stack_addr <= c.regs.sp && c.regs.sp < c.stack_addr + c.stack_bytes);
        l.target.last.valid = false;
    }
    alarm(0);
    __atomic_store_n(&keep, 0, __ATOMIC_SEQ_CST);
    end(&l);
    assert_int_equal(fake_mach_rights(), 0);
}
#endif

/* ---- monitor and worker ------------------------------------------------------------------------ */

static uint32_t worker_ends;
static uint64_t worker_captures;

/* Captures the thread of `arg` as the worker does: without the mailbox, into its own buffer. */
static void *work(void *arg) {
    const struct life *l = arg;
    static uint8_t copy[HD_STACK_BYTES_MAX];
    while (__atomic_load_n(&worker_ends, __ATOMIC_SEQ_CST) == 0) {
        struct hd_target t = {0};
        struct hd_capture c;
        (void)hd_target_open(&t, l->id);
        uint64_t captured = hd_capture_frozen(&t, copy, &c) == 0;
        __atomic_add_fetch(&worker_captures, captured, __ATOMIC_SEQ_CST);
        hd_target_close(&t);
    }
    return NULL;
}

static void no_two_threads_are_suspended_at_once(void **state) {
    (void)state;
    static struct life one, two;
    struct hd_capture c;
    pthread_t worker;
    uint64_t captures = 0;
    fake_mach_reset();
    start(&one, until_stop);
    start(&two, until_stop);
    fake_mach_clear();
    assert_int_equal(pthread_create(&worker, NULL, work, &two), 0);
    alarm(30);
    while (captures < 300 || __atomic_load_n(&worker_captures, __ATOMIC_SEQ_CST) < 300) {
        hd_target_forget_last(&one.target);
        assert_int_equal(hd_capture_take(&one.target, false, &c), 0);
        captures += c.way == HD_WAY_SUSPENDED;
    }
    alarm(0);
    set_flag(&worker_ends);
    pthread_join(worker, NULL);
    assert_int_equal(fake_mach.most_suspended, 1);
    end(&one);
    end(&two);
    assert_int_equal(fake_mach_rights(), 0);
}

/* ---- the watched thread ------------------------------------------------------------------------ */

static void a_thread_stores_its_stack_and_its_port(void **state) {
    (void)state;
    static struct life l;
    fake_mach_reset();
    start(&l, until_stop);
    assert_true(hd_thread_id_equal(l.mailbox->thread, l.id));
    assert_in_range(l.inside, l.mailbox->stack_begin, l.mailbox->stack_end);
    assert_true(l.target.bounds.lo == l.mailbox->stack_begin && l.target.bounds.hi == l.mailbox->stack_end);
    assert_int_equal(l.mailbox->alt_bytes, HD_ALT_STACK_BYTES);
    assert_int_not_equal(hd_thread_port(l.id), 0);
    assert_int_equal(fake_mach_rights(), 1);
    assert_null(hd_capture_own_mailbox());
    end(&l);
    assert_int_equal(hd_thread_port(l.id), 0);
    assert_int_equal(fake_mach_rights(), 0);
}

static stack_t program_stack;
static void keep_alt_stack(struct life *l) {
    (void)sigaltstack(NULL, &program_stack);
    until_stop(l);
}

static void the_alternate_stack_is_ours_until_the_end(void **state) {
    (void)state;
    static struct life l;
    fake_mach_reset();
    start(&l, keep_alt_stack);
    end(&l);
    assert_ptr_equal(program_stack.ss_sp, l.mailbox == NULL ? NULL : (uint8_t *)l.memory + 16384);
    assert_int_equal(program_stack.ss_size, HD_ALT_STACK_BYTES);
}

/* A thread that ends its watch while the monitor reads its stack waits for the monitor. */
static void a_watch_ends_only_after_the_copy(void **state) {
    (void)state;
    static struct life l;
    fake_mach_reset();
    start(&l, until_stop);
    __atomic_store_n(&l.mailbox->reading, 1, __ATOMIC_SEQ_CST);
    set_flag(&l.stop);
    hd_os_nap(20 * HD_NS_PER_MS);
    assert_int_equal(__atomic_load_n(&l.left, __ATOMIC_SEQ_CST), 0);
    assert_int_equal(__atomic_load_n(&l.mailbox->ended, __ATOMIC_SEQ_CST), 1);
    __atomic_store_n(&l.mailbox->reading, 0, __ATOMIC_SEQ_CST);
    end(&l);
    assert_int_equal(__atomic_load_n(&l.left, __ATOMIC_SEQ_CST), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if !HD_SANITIZED
        cmocka_unit_test(a_suspended_owner_of_mallocs_lock_does_not_stop_us),
#endif
        cmocka_unit_test(no_two_threads_are_suspended_at_once),
        cmocka_unit_test(a_thread_stores_its_stack_and_its_port),
        cmocka_unit_test(the_alternate_stack_is_ours_until_the_end),
        cmocka_unit_test(a_watch_ends_only_after_the_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
