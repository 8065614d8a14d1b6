/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "os/os.h"
#include "os/ticks.h"

static uint64_t libc_now(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * HD_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void the_clock_agrees_with_libc_before_and_after_init(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) {
        uint64_t before = libc_now();
        uint64_t ours = hd_os_now_ns();
        uint64_t after = libc_now();
        assert_true(before <= ours && ours <= after);
        hd_os_clock_init();
    }
}

/* Else the vDSO makes the system call itself. */
static bool clock_is_read_without_the_kernel(void) {
    static const char *const readable[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                           "arch_sys_counter"};
    char name[64] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    bool other = file != NULL && fscanf(file, "%63s", name) == 1;
    if (file != NULL) {
        fclose(file);
    }
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++) {
        other = other && strcmp(name, readable[i]) != 0;
    }
    return !other;
}

static void the_vdso_is_found_so_the_clock_is_no_system_call(void **state) {
    (void)state;
    if (!clock_is_read_without_the_kernel()) {
        skip();
    }
    hd_os_clock_init();
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 100; i++) {
        uint64_t begin = hd_ticks_read();
        for (int k = 0; k < 100; k++) {
            (void)hd_os_now_ns();
        }
        uint64_t took = hd_ticks_read() - begin;
        best = took < best ? took : best;
    }
    uint64_t calls = UINT64_MAX;
    for (int i = 0; i < 100; i++) {
        uint64_t begin = hd_ticks_read();
        for (int k = 0; k < 100; k++) {
            uint64_t ns;
            hd_os.boot_clock(&ns);
        }
        uint64_t took = hd_ticks_read() - begin;
        calls = took < calls ? took : calls;
    }
    assert_true(best < calls); /* a raw system call costs several times as much */
}

static void thread_cpu_time_grows_with_work_only(void **state) {
    (void)state;
    uint64_t begin = hd_os_thread_cpu_ns();
    uint64_t end;
    do {
        end = hd_os_thread_cpu_ns();
    } while (end < begin + 2 * HD_NS_PER_MS);
    struct timespec pause = {0, 20 * (long)HD_NS_PER_MS};
    nanosleep(&pause, NULL);
    assert_true(hd_os_thread_cpu_ns() - end < 20 * HD_NS_PER_MS);
}

static void failures_are_negative_errno_values_and_errno_stays(void **state) {
    (void)state;
    char c;
    errno = 77;
    assert_int_equal(hd_os.open_at(AT_FDCWD, "/no/such/file", O_RDONLY, 0), -ENOENT);
    assert_int_equal(hd_os.read(-1, &c, 1), -EBADF);
    assert_int_equal(hd_os.close(-1), -EBADF);
    assert_int_equal(hd_os_map_error(hd_os.map(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
                     -EINVAL);
    assert_int_equal(hd_os.read_memory(hd_os.get_pid(), 8, &c, 1), -EFAULT);
    assert_int_equal(errno, 77);
}

static void files_are_made_written_renamed_and_removed(void **state) {
    (void)state;
    char folder[] = "/tmp/hangdog-os-XXXXXX";
    char text[8] = {0};
    struct stat st;
    assert_non_null(mkdtemp(folder));
    int dir = hd_os.open_at(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    assert_true(dir >= 0);
    int fd = hd_os.open_at(dir, "a", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(hd_os.write(fd, "hello", 5), 5);
    assert_int_equal(hd_os.fsync(fd), 0);
    assert_int_equal(hd_os.flock(fd, 2), 0);
    assert_int_equal(hd_os.rename_at(dir, "a", "b"), 0);
    assert_int_equal(hd_os.pread(fd, text, sizeof text, 1), 4);
    assert_string_equal(text, "ello");
    assert_int_equal(hd_os.ftruncate(fd, 2), 0);
    assert_int_equal(hd_os.unlink_at(dir, "b"), 0);
    assert_int_equal(hd_os.unlink_at(dir, "b"), -ENOENT);
    assert_int_equal(hd_os.mkdir_at(dir, "sub", 0700), 0);
    assert_int_equal(hd_os.chmod_at(dir, "sub", 0500), 0);
    assert_int_equal(hd_os.stat_at(dir, "sub", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0500);
    assert_int_equal(hd_os.chmod_at(fd, "", 0640), 0);
    assert_int_equal(hd_os.stat_at(fd, "", &st, AT_EMPTY_PATH), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    hd_os.close(fd);
    hd_os.close(dir);
    assert_int_equal(folder_remove(folder), 0);
}

static void a_futex_wait_ends_by_time_by_difference_and_by_wake(void **state) {
    (void)state;
    uint32_t word = 1;
    assert_int_equal(hd_os.futex_wait(&word, 0, UINT64_MAX, false), -EAGAIN);
    uint64_t until = hd_os_now_ns() + 5 * HD_NS_PER_MS;
    assert_int_equal(hd_os.futex_wait(&word, 1, until, false), -ETIMEDOUT);
    assert_true(hd_os_now_ns() >= until);
    assert_int_equal(hd_os.futex_wake(&word, 1, true), 0);
}

static void memory_is_zeroed_and_wiped_in_a_forked_child(void **state) {
    (void)state;
    size_t bytes = 64 * 1024;
    uint8_t *p = hd_os_memory_take(bytes);
    assert_non_null(p);
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(p[i], 0);
    }
    memset(p, 7, bytes);
    pid_t child = fork();
    if (child == 0) {
        _exit(p[0] == 0 && p[bytes - 1] == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(p[0], 7);
    hd_os_memory_give(p, bytes);
}

static int refuse_advice(void *addr, size_t n, int advice) {
    (void)addr;
    (void)n;
    (void)advice;
    return -EINVAL;
}

static void no_memory_is_given_that_a_child_would_inherit(void **state) {
    (void)state;
    struct hd_os_calls saved = hd_os;
    hd_os.advise = refuse_advice;
    void *p = hd_os_memory_take(4096);
    hd_os = saved;
    assert_null(p);
}

struct seen {
    sigset_t mask;
    void *stack_addr;
    char name[16];
    int files_left;
};

static void *look_around(void *arg) {
    struct seen *seen = arg;
    seen->stack_addr = &seen;
    pthread_sigmask(SIG_BLOCK, NULL, &seen->mask);
    hd_os.set_thread_name("os-test");
    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    seen->files_left = fcntl(1, F_GETFD) >= 0;
    return NULL;
}

static void a_thread_starts_with_signals_blocked_and_without_descriptors(void **state) {
    (void)state;
    static uint8_t stack[256 * 1024 + HD_OS_STACK_EXTRA] __attribute__((aligned(4096)));
    struct hd_os_thread t = {0};
    struct seen seen = {.files_left = -1};
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(hd_os_thread_start(&t, stack, sizeof stack, look_around, &seen), 0);
    hd_os_thread_join(&t);
    assert_false(t.started);
    hd_os_thread_join(&t); /* harmless */
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_memory_equal(&before, &after, 8);
    assert_true((uint8_t *)seen.stack_addr >= stack && (uint8_t *)seen.stack_addr < stack + sizeof stack);
    for (int s = 1; s < 32; s++) {
        if (s != SIGKILL && s != SIGSTOP && s != SIGSYS) { /* SIGSYS: sanitizers keep it open */
            assert_int_equal(sigismember(&seen.mask, s), 1);
        }
    }
    assert_string_equal(seen.name, "os-test");
    assert_int_equal(seen.files_left, 0);
    assert_true(fcntl(1, F_GETFD) >= 0); /* ours are untouched */
}

/* As where the program's thread-local variables fill it: none is left, or too little. */
static void a_thread_without_room_on_its_stack_gets_libcs(void **state) {
    (void)state;
    static uint8_t small[16 * 1024] __attribute__((aligned(4096)));
    for (size_t bytes = 64; bytes <= sizeof small; bytes += sizeof small - 64) {
        struct hd_os_thread t = {0};
        struct seen seen = {.files_left = -1};
        assert_int_equal(hd_os_thread_start(&t, small, bytes, look_around, &seen), 0);
        hd_os_thread_join(&t);
        assert_string_equal(seen.name, "os-test");
        assert_false((uint8_t *)seen.stack_addr >= small &&
                     (uint8_t *)seen.stack_addr < small + sizeof small);
    }
}

static long read_tsc_name(int fd, void *buf, size_t n) {
    (void)fd;
    (void)n;
    memcpy(buf, "hpet\n", 5);
    return 5;
}

static void ticks_are_not_used_under_another_clock_source(void **state) {
    (void)state;
    struct hd_os_calls saved = hd_os;
    hd_os.read = read_tsc_name;
    bool usable = hd_os_ticks_usable();
    bool steady = hd_os_ticks_steady();
    hd_os = saved;
    assert_false(usable || steady);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_agrees_with_libc_before_and_after_init),
        cmocka_unit_test(the_vdso_is_found_so_the_clock_is_no_system_call),
        cmocka_unit_test(thread_cpu_time_grows_with_work_only),
        cmocka_unit_test(failures_are_negative_errno_values_and_errno_stays),
        cmocka_unit_test(files_are_made_written_renamed_and_removed),
        cmocka_unit_test(a_futex_wait_ends_by_time_by_difference_and_by_wake),
        cmocka_unit_test(memory_is_zeroed_and_wiped_in_a_forked_child),
        cmocka_unit_test(no_memory_is_given_that_a_child_would_inherit),
        cmocka_unit_test(a_thread_starts_with_signals_blocked_and_without_descriptors),
        cmocka_unit_test(a_thread_without_room_on_its_stack_gets_libcs),
        cmocka_unit_test(ticks_are_not_used_under_another_clock_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
