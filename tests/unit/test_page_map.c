/* SPDX-License-Identifier: MIT
 *
 * What is known of this process's own memory without a wait for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "busy.h"
#include "os/os.h"

#define NOT_THERE 0x1000u /* below what is ever mapped (vm.mmap_min_addr) */

static size_t page;

static int open_memory(void **state) {
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    hd_os_touched_open();
    return 0;
}

static int close_memory(void **state) {
    (void)state;
    hd_os_touched_close();
    return 0;
}

static uint64_t pages_of(size_t pages) {
    void *at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    (void)madvise(at, pages * page, MADV_NOHUGEPAGE);
    return (uint64_t)(uintptr_t)at;
}

static void touch(uint64_t at) {
    *(volatile char *)(uintptr_t)at = 1;
}

static void it_ends_with_the_last_page_that_was_touched(void **state) {
    (void)state;
    uint64_t at = pages_of(10);
    assert_int_equal(munmap((void *)(uintptr_t)(at + 4 * page), 6 * page), 0);
    touch(at);
    touch(at + 2 * page); /* the one between is there all the same */
    assert_int_equal(hd_os_touched(at, 1), 1);
    assert_int_equal(hd_os_touched(at + 8, 2 * page), 2 * page);
    assert_int_equal(hd_os_touched(at + 8, 5 * page), 3 * page - 8);
    assert_int_equal(hd_os_touched(at + page, 2 * page), 0);
    assert_int_equal(hd_os_touched(at + 4 * page, 1), 0);
    munmap((void *)(uintptr_t)at, 4 * page);
}

static void what_cannot_be_there_is_not(void **state) {
    (void)state;
    static const uint64_t at[] = {0, 3, NOT_THERE, INT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 62};
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        assert_int_equal(hd_os_touched(at[i], 1), 0);
    }
}

static int refuse_to_open(int dir, const char *path, int flags, int mode) {
    (void)dir;
    (void)path;
    (void)flags;
    (void)mode;
    return -EACCES;
}

static void where_nothing_is_known_all_may_be_there(void **state) {
    (void)state;
    struct hd_os_calls real = hd_os;
    hd_os.open_at = refuse_to_open;
    hd_os_touched_open();
    hd_os = real;
    assert_int_equal(hd_os_touched(NOT_THERE, 100), 100);
    hd_os_touched_open();
    assert_int_equal(hd_os_touched(pages_of(1), (size_t)1 << 40), (size_t)1 << 40);
}

static atomic_uint calls;
static atomic_bool stop, refused;

static void *keeps_the_map_locked(void *unused) {
    while (!atomic_load(&stop) && !atomic_load(&refused)) {
        atomic_store(&refused, !busy_in_kernel());
        atomic_fetch_add(&calls, 1);
    }
    return unused;
}

/* Who writes to the map would wait for the end of each call, and everybody else for who writes. */
static void who_only_reads_the_map_is_not_waited_for(void **state) {
    (void)state;
    enum {
        TIMES = 40
    };
    pthread_t thread;
    unsigned in_time = 0;
    assert_int_equal(pthread_create(&thread, NULL, keeps_the_map_locked, NULL), 0);
    for (int i = 0; i < TIMES; i++) {
        hd_os_nap(10 * HD_NS_PER_MS);
        unsigned before = atomic_load(&calls);
        assert_int_equal(hd_os_touched(NOT_THERE, 1), 0);
        in_time += atomic_load(&calls) == before;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    if (atomic_load(&refused)) {
        print_message("this kernel has no such call\n");
        skip();
    }
    print_message("%u of %d times it was told before the call was over\n", in_time, TIMES);
    assert_true(in_time > TIMES / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_ends_with_the_last_page_that_was_touched, open_memory,
                                        close_memory),
        cmocka_unit_test_setup_teardown(what_cannot_be_there_is_not, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(where_nothing_is_known_all_may_be_there, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(who_only_reads_the_map_is_not_waited_for, open_memory, close_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
