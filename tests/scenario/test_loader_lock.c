/* SPDX-License-Identifier: MIT
 *
 * Another thread sits for three seconds in a dl_iterate_phdr callback and so holds the loader's lock. A
 * sampler that looks modules up on the watched thread freezes it for as long, and has nothing to show. Here
 * every capture has its stack, walked to its root, and the watched thread is paused no longer than otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "capture_live.h"
#include "unwind/unwind.h"

#define LOCKED_NS (3 * HD_NS_PER_S)
#define EVERY_NS (20 * HD_NS_PER_MS)

static struct hd_modules modules;
static struct hd_unwinder *unwinder;
static int lock_taken, lock_over; /* atomic */

static int keep_lock(struct dl_phdr_info *info, size_t size, void *data) {
    (void)info;
    (void)size;
    (void)data;
    live_set(&lock_taken, 1);
    live_nap(LOCKED_NS);
    return 1;
}

static void *lock_the_loader(void *arg) {
    dl_iterate_phdr(keep_lock, NULL);
    live_set(&lock_over, 1);
    return arg;
}

struct figures {
    unsigned samples, with_stack, to_root;
    uint64_t longest_gap_ns; /* that the watched thread saw in itself */
};

static uint64_t longest_gap_ns; /* atomic: by the spinning thread */

static void spin_and_measure(struct live *l) {
    uint64_t before = hd_os_now_ns();
    while (live_get(&l->stop) == 0) {
        uint64_t now = hd_os_now_ns();
        if (now - before > __atomic_load_n(&longest_gap_ns, __ATOMIC_RELAXED)) {
            __atomic_store_n(&longest_gap_ns, now - before, __ATOMIC_RELAXED);
        }
        before = now;
    }
}

static void block(struct live *l) {
    uint64_t value;
    if (read(*(int *)l->arg, &value, sizeof value) < 0) {
        perror("read");
    }
}

static void walk(const struct hd_capture *c, struct figures *f) {
    static struct hd_frame frames[64];
    struct hd_walk walked;
    hd_unwind(unwinder, &c->regs, c->stack, c->stack_addr, c->stack_bytes, 0, frames, 64, &walked);
    f->to_root += walked.stop == HD_STOP_ROOT;
}

static void sample_until(struct live *l, const int *over, uint64_t at_most_ns, struct figures *f) {
    struct hd_capture c;
    uint64_t end = hd_os_now_ns() + at_most_ns;
    memset(f, 0, sizeof *f);
    __atomic_store_n(&longest_gap_ns, 0, __ATOMIC_RELAXED);
    while (hd_os_now_ns() < end && (over == NULL || live_get(over) == 0)) {
        hd_target_forget_last(&l->target);
        assert_int_equal(hd_capture_take(&l->target, true, &c), 0);
        f->samples++;
        if (c.way != HD_WAY_KERNEL && c.stack_bytes > 0) {
            f->with_stack++;
            walk(&c, f);
        }
        live_nap(EVERY_NS);
    }
    f->longest_gap_ns = __atomic_load_n(&longest_gap_ns, __ATOMIC_RELAXED);
}

/* While the lock is held, and for as long without. */
static void compare(struct live *l, struct figures *locked, struct figures *open) {
    pthread_t holder;
    live_set(&lock_taken, 0);
    live_set(&lock_over, 0);
    assert_int_equal(pthread_create(&holder, NULL, lock_the_loader, NULL), 0);
    assert_true(live_wait(&lock_taken));
    sample_until(l, &lock_over, 10 * HD_NS_PER_S, locked);
    pthread_join(holder, NULL);
    sample_until(l, NULL, LOCKED_NS, open);
}

static void print_figures(const char *what, const struct figures *f) {
    print_message("%s: %u samples, %u with a stack, %u to the root, longest gap %lu us\n", what, f->samples,
                  f->with_stack, f->to_root, f->longest_gap_ns / 1000);
}

static void captures_a_running_thread_without_delay(void **state) {
    static struct live l; // its thread outlives a test that fails
    struct figures locked, open;
    (void)state;
    assert_true(live_start(&l, spin_and_measure));
    sample_until(&l, NULL, 200 * HD_NS_PER_MS, &open); /* the first walk reads tables in */
    compare(&l, &locked, &open);
    print_figures("running, lock held", &locked);
    print_figures("running, lock free", &open);
    assert_true(locked.samples > 30);
    assert_true(locked.with_stack * 10 >= locked.samples * 9);
    assert_true(locked.to_root * 100 >= locked.with_stack * 99);
    assert_true(locked.longest_gap_ns <
                LOCKED_NS / 4); /* the machine's own hiccups; the lock's would be all of it */
    live_end(&l);
}

static void a_blocked_thread_is_captured_too(void **state) {
    static int fd;
    static struct live l = {.arg = &fd};
    struct figures locked, open;
    struct hd_capture c;
    uint64_t one = 1;
    (void)state;
    fd = eventfd(0, EFD_CLOEXEC);
    assert_true(live_start(&l, block));
    assert_true(live_capture_in(&l, SYS_read, &c));
    compare(&l, &locked, &open);
    print_figures("blocked, lock held", &locked);
    print_figures("blocked, lock free", &open);
    assert_true(locked.samples > 30);
    assert_int_equal(locked.with_stack, locked.samples);
    assert_int_equal(locked.to_root, locked.samples);
    assert_int_equal(l.target.cost.signals, 0);
    assert_int_equal(write(fd, &one, sizeof one), sizeof one);
    live_end(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captures_a_running_thread_without_delay),
        cmocka_unit_test(a_blocked_thread_is_captured_too),
    };
    hd_os_clock_init();
    hd_modules_init_live(&modules, open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
    unwinder = calloc(1, hd_unwinder_bytes());
    if (unwinder == NULL) {
        return 1;
    }
    hd_unwinder_init(unwinder, &modules);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(unwinder);
    return failed;
}
