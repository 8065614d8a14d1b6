/* SPDX-License-Identifier: MIT
 *
 * Reads of this process's own memory, where it is and where it is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "busy.h"
#include "os/os.h"

#define NOT_THERE 0x1000u /* below what is ever mapped (vm.mmap_min_addr) */

static int mem_fd;

static int open_memory(void **state) {
    (void)state;
    mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    return mem_fd < 0;
}

static int close_memory(void **state) {
    (void)state;
    return close(mem_fd);
}

static void what_is_there_is_read_as_far_as_it_goes(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t copy[64], *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    assert_int_equal(munmap(at + page, page), 0);
    memset(at, 0x5a, page);
    assert_int_equal(hd_os_read_own(mem_fd, (uint64_t)(uintptr_t)at, copy, sizeof copy), sizeof copy);
    assert_memory_equal(copy, at, sizeof copy);
    assert_int_equal(hd_os_read_own(mem_fd, (uint64_t)(uintptr_t)(at + page - 5), copy, sizeof copy), 5);
    assert_true(hd_os_read_own(mem_fd, (uint64_t)(uintptr_t)(at + page), copy, 1) < 0);
    munmap(at, page);
}

static void what_cannot_be_there_is_not_read(void **state) {
    (void)state;
    static const uint64_t at[] = {0, 3, NOT_THERE, INT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 62};
    uint8_t copy[16];
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        assert_true(hd_os_read_own(mem_fd, at[i], copy, sizeof copy) < 0);
    }
    assert_true(hd_os_read_own(mem_fd, 4096, copy, SIZE_MAX) < 0);
}

/* A word that is the one to which it is compared. */
static void no_word_is_waited_for(void **state) {
    (void)state;
    uint32_t word[1024], copy;
    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++) {
        word[i] = 0xa5c3f00fu;
    }
    assert_int_equal(hd_os_read_own(mem_fd, (uint64_t)(uintptr_t)word, &copy, sizeof copy), sizeof copy);
    assert_int_equal(copy, word[0]);
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
    enum { READS = 40 };
    pthread_t thread;
    unsigned in_time = 0;
    uint8_t byte;
    assert_int_equal(pthread_create(&thread, NULL, keeps_the_map_locked, NULL), 0);
    for (int i = 0; i < READS; i++) {
        hd_os_nap(10 * HD_NS_PER_MS);
        unsigned before = atomic_load(&calls);
        assert_true(hd_os_read_own(mem_fd, NOT_THERE, &byte, 1) < 0);
        in_time += atomic_load(&calls) == before;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    if (atomic_load(&refused)) {
        print_message("this kernel has no such call\n");
        skip();
    }
    print_message("%u of %d reads were over before the call was\n", in_time, READS);
    assert_true(in_time > READS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_there_is_read_as_far_as_it_goes, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(what_cannot_be_there_is_not_read, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(no_word_is_waited_for, open_memory, close_memory),
        cmocka_unit_test_setup_teardown(who_only_reads_the_map_is_not_waited_for, open_memory, close_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
