/* SPDX-License-Identifier: MIT
 *
 * The search for a frame pointer behind a big frame: a buffer on the stack that the function has not filled
 * yet, full of what earlier calls left there. libuv 1.44 waits so in node 18, below 12 KiB of events.
 */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind_live.h"

#define BIG_FRAME_WORDS 1536u /* 1,024 events of 12 bytes */
#define LEFT_BY_NODE 300u     /* records in node 18's are some 150 */
#define MORE_THAN_TRIED (BIG_FRAME_WORDS / 2)
#define WALKS 200
#define WALK_NS_MAX 20000000u /* the walk of a hostile stack: a sample's interval is 50 ms */

static struct unwind_capture capture;
static struct hd_frame frames[UNWIND_FRAMES];
static struct hd_walk walk;
static int tid, ends[2];
static unsigned records;
static volatile size_t frame_words = BIG_FRAME_WORDS;

__attribute__((noinline)) static uint64_t return_address(void) {
    __asm__ volatile("" : : : "memory"); /* each call is made */
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

/* Frame records that lead nowhere: return addresses that are true, callers' frame pointers that are not. The
 * wait is called from here, since a function between would save this one's frame pointer. */
__attribute__((noinline)) static void wait_below_records(void) {
    size_t size = frame_words * sizeof(uint64_t); /* not known, so this function has a frame pointer */
    uint64_t *buffer = alloca(size);
    char c;
    memset(buffer, 0, size);
    uint64_t two[2] = {return_address(), 0}; /* a walk may try equal ones once */
    two[1] = return_address();
    for (unsigned i = 0; i < records; i++) {
        buffer[2 * i] = (uint64_t)(uintptr_t)&buffer[2 * i + 1] + 4;
        buffer[2 * i + 1] = two[records > LEFT_BY_NODE ? i % 2 : 0];
    }
    __asm__ volatile("" : : "r"(buffer) : "memory");
    __atomic_store_n(&tid, gettid(), __ATOMIC_RELEASE);
    while (syscall(SYS_read, ends[0], &c, 1) < 0) /* which no sanitizer intercepts */
        ;
    __asm__ volatile("" : : "r"(buffer) : "memory");
}

static volatile bool calls_before;

/* The wait has no frame of its own on arm64. A pointer calls this function, so no call names it. */
__attribute__((noinline)) static void wait_at_once(void) {
    char c;
    if (calls_before) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
    }
    __atomic_store_n(&tid, gettid(), __ATOMIC_RELEASE);
    while (syscall(SYS_read, ends[0], &c, 1) < 0)
        ;
}

static void (*volatile wait)(void);

static void *waiting_thread(void *arg) {
    (void)arg;
    if (wait != NULL) {
        wait();
    } else {
        wait_below_records();
    }
    __asm__ volatile("" : : : "memory"); /* no tail call */
    return NULL;
}

/* Walks the thread by stack pointer and program counter, all that is known of a blocked one. */
static void walk_below(unsigned n) {
#if defined(__SANITIZE_THREAD__)
    skip(); /* it keeps signals from threads in system calls that it does not know */
#endif
    pthread_t thread;
    records = n;
    __atomic_store_n(&tid, 0, __ATOMIC_RELEASE);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, waiting_thread, NULL), 0);
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0) {
        sched_yield();
    }
    assert_true(unwind_wait_blocked(tid));
    unwind_capture_thread(&capture, thread);
    unwind_walk(&capture, true, 0, frames, UNWIND_FRAMES, &walk);
    assert_int_equal(write(ends[1], "x", 1), 1);
    pthread_join(thread, NULL);
    close(ends[0]);
    close(ends[1]);
}

static void a_frame_pointer_behind_a_big_frame_is_found(void **state) {
    (void)state;
    walk_below(LEFT_BY_NODE);
    unwind_assert_same(&capture, frames, &walk);
    assert_true(walk.used_scan);
}

static void the_caller_of_a_wait_without_a_frame_is_found(void **state) {
    (void)state;
    wait = wait_at_once;
    calls_before = true;
    walk_below(0);
    unwind_assert_same(&capture, frames, &walk);
    calls_before = false;
    walk_below(0);
    wait = NULL;
    assert_int_equal(walk.stop, HD_STOP_ROOT); /* also where nothing names it, and then the walk says so */
    assert_true(walk.count == capture.peer_count || frames[1].trust == HD_TRUST_GAP);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void a_frame_of_more_records_than_are_tried_costs_little(void **state) {
    (void)state;
    walk_below(MORE_THAN_TRIED);
    assert_int_not_equal(walk.stop, HD_STOP_ROOT);
    uint64_t begun = now_ns();
    for (int i = 0; i < WALKS; i++) {
        unwind_walk(&capture, true, 0, frames, UNWIND_FRAMES, &walk);
    }
    uint64_t each = (now_ns() - begun) / WALKS;
    printf("a walk that tries all it may: %lu ns of CPU\n", (unsigned long)each);
#ifndef HANGDOG_EMULATED /* an emulator's time is not the walk's */
    assert_true(each < WALK_NS_MAX);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_pointer_behind_a_big_frame_is_found),
        cmocka_unit_test(the_caller_of_a_wait_without_a_frame_is_found),
        cmocka_unit_test(a_frame_of_more_records_than_are_tried_costs_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
