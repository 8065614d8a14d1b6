/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/linux/thread_files.h"
#include "os/linux/proc_stat.h"
#include "os/linux/proc_status.h"
#include "os/linux/proc_text.h"
#include "os/os.h"

static bool syscall_line(const char *text, struct hd_proc_syscall *out) {
    return hd_proc_parse_syscall(text, strlen(text), out);
}

static void a_blocked_call_gives_number_arguments_and_place(void **state) {
    (void)state;
    struct hd_proc_syscall c;
    assert_true(
        syscall_line("232 0x3 0x7f391054c000 0x20 0xffffffff 0x8 0x0 0x7ffc7ac262f8 0x7f39106c62ad\n", &c));
    assert_int_equal(c.where, HD_PROC_BLOCKED);
    assert_int_equal(c.nr, 232);
    assert_int_equal(c.args[0], 3);
    assert_int_equal(c.args[1], 0x7f391054c000);
    assert_int_equal(c.args[3], 0xffffffff);
    assert_int_equal(c.args[5], 0);
    assert_int_equal(c.sp, 0x7ffc7ac262f8);
    assert_int_equal(c.pc, 0x7f39106c62ad);
}

static void distinguishes_running_blocked_and_ended(void **state) {
    (void)state;
    struct hd_proc_syscall c;
    assert_true(syscall_line("running\n", &c));
    assert_int_equal(c.where, HD_PROC_RUNNING);
    assert_true(syscall_line("-1 0x7ffc7ac262f8 0x7f39106c62ad\n", &c));
    assert_int_equal(c.where, HD_PROC_BLOCKED);
    assert_int_equal(c.nr, HD_SYSCALL_NONE);
    assert_int_equal(c.sp, 0x7ffc7ac262f8);
    assert_true(syscall_line("-1 0x0 0x0\n", &c));
    assert_int_equal(c.where, HD_PROC_ENDED);
}

static void a_line_that_is_cut_anywhere_is_refused(void **state) {
    (void)state;
    static const char whole[] = "7 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffc7ac262f8 0x7f39106c62ad\n";
    struct hd_proc_syscall c = {.nr = 99};
    for (size_t n = 0; n < sizeof whole - 2; n++) {
        assert_false(hd_proc_parse_syscall(whole, n, &c));
    }
    assert_int_equal(c.nr, 99); /* untouched */
    assert_true(hd_proc_parse_syscall(whole, sizeof whole - 1, &c));
    assert_false(syscall_line("7 0x1ffffffffffffffff 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n", &c));
    assert_false(syscall_line("9999999999 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n", &c));
    assert_false(syscall_line("no such thing\n", &c));
}

static void scheduling_figures_are_three_numbers(void **state) {
    (void)state;
    struct hd_sched s;
    assert_true(hd_proc_parse_schedstat("12345678901 42 7\n", 17, &s));
    assert_int_equal(s.cpu_ns, 12345678901);
    assert_int_equal(s.delay_ns, 42);
    assert_int_equal(s.slices, 7);
    assert_false(hd_proc_parse_schedstat("12345678901 42 ", 15, &s));
    assert_false(hd_proc_parse_schedstat("12345678901 42 7", 16, &s)); /* 7 may be the begin of 77 */
    assert_false(hd_proc_parse_schedstat("", 0, &s));
}

static void the_state_is_found_behind_any_name(void **state) {
    (void)state;
    static const struct {
        const char *text;
        char state;
    } rows[] = {
        {"12 (redis-server) S 1 12", 'S'},
        {"12 (a) b) c)) D 1 12", 'D'},
        {"12 () R 1", 'R'},
        {"12 (x", 0},
        {"12 (x) ", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(hd_proc_stat_parse(rows[i].text).state, rows[i].state);
    }
    assert_int_equal(hd_proc_run_state('S'), HD_RUN_BLOCKED);
    assert_int_equal(hd_proc_run_state('D'), HD_RUN_UNINTERRUPTIBLE);
    assert_int_equal(hd_proc_run_state('t'), HD_RUN_STOPPED);
    assert_int_equal(hd_proc_run_state('Z'), HD_RUN_GONE);
    assert_int_equal(hd_proc_run_state('R'), HD_RUN_RUNNABLE);
}

static void the_times_are_found_behind_any_name(void **state) {
    (void)state;
    static const char text[] = "12 (a) b) c)) R 1 12 12 34816 -1 4194304 153 0 0 0 377 4 0 0 20 0 1";
    struct hd_proc_stat p = hd_proc_stat_parse(text);
    assert_int_equal(p.ticks_outside, 377);
    assert_int_equal(p.ticks_inside, 4);
    assert_int_equal(p.parent, 1);
    assert_int_equal(p.terminal, 34816);
    assert_int_equal(p.terminal_group, 0);
    for (size_t n = 0; n < (size_t)(strstr(text, " 0 0 20") - text); n++) { /* cut: perhaps in the number */
        char piece[sizeof text] = "";
        memcpy(piece, text, n);
        assert_int_equal(hd_proc_stat_parse(piece).ticks_inside, 0);
    }
}

static void a_line_of_status_is_found_behind_any_other(void **state) {
    (void)state;
    char path[] = "/tmp/hangdog-status-XXXXXX", value[16];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fprintf(f, "Name:\tSeccomp:\t7\nGroups:\t");
    for (unsigned i = 0; i < 20000; i++) {
        fprintf(f, "%u ", 100000 + i);
    }
    fprintf(
        f,
        "\nNSpid:\t4711\t12\t3\nState:\tT (stopped)\nShdPnd:\t000000000000a004\nSeccomp:\t2\nSeccomp_filters:\t1\nLast:\t5");
    fclose(f);
    assert_int_equal(hd_proc_status_number(AT_FDCWD, path, "NSpid:", 10), 3);
    assert_int_equal(hd_proc_status_number(AT_FDCWD, path, "ShdPnd:", 16), 0xa004);
    assert_int_equal(hd_proc_status_number(AT_FDCWD, path, "Seccomp:", 10), 2);
    assert_int_equal(hd_proc_status_number(AT_FDCWD, path, "Seccomp_filters:", 10), 1);
    assert_int_equal(hd_proc_status_number(AT_FDCWD, path, "Last:", 10), 5);
    assert_int_equal(hd_proc_status_value(AT_FDCWD, path, "State:", value, 4), 1);
    assert_string_equal(value, "T (");
    assert_int_equal(hd_proc_status_value(AT_FDCWD, path, "Seccom:", value, sizeof value), 0);
    assert_int_equal(hd_proc_status_value(AT_FDCWD, "/nowhere", "State:", value, sizeof value), -ENOENT);
    assert_string_equal(value, "");
    unlink(path);
}

static const char status_text[] =
    "Name:\tvoluntary_ctxt_switches:\t5\nSigQ:\t0/96365\nSigPnd:\t0000000000400000\n"
    "ShdPnd:\t0000000000000001\nSeccomp:\t2\nSeccomp_filters:\t1\nSigBlk:\t8000000000000000\nSigIgn:\t0\n"
    "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";

static void status_gives_masks_and_switches(void **state) {
    (void)state;
    struct hd_proc_status s;
    assert_true(hd_proc_parse_status(status_text, sizeof status_text - 1, &s));
    assert_int_equal(s.blocked, 1ULL << 63);
    assert_int_equal(s.filters, 1);
    assert_int_equal(s.pending, 0x400001);
    assert_int_equal(s.voluntary, 150);
    assert_int_equal(s.involuntary, 545);
}

/* 60,000 groups: what is wanted lies far behind them. */
static void status_of_a_thread_of_many_groups_is_read(void **state) {
    (void)state;
    static char text[100000];
    for (size_t groups = 0; groups < 80000; groups += groups < 9000 ? 61 : 7919) {
        int fd = memfd_create("status", 0);
        struct hd_thread_files files = {.status_fd = fd};
        struct hd_proc_status s;
        memset(text, '1', groups + 1);
        text[groups] = '\n';
        assert_int_equal(write(fd, "Groups:\t", 8), 8);
        assert_int_equal(write(fd, text, groups + 1), (ssize_t)groups + 1);
        assert_int_equal(write(fd, status_text, sizeof status_text - 1), (ssize_t)sizeof status_text - 1);
        assert_int_equal(hd_thread_files_status(&files, &s), 0);
        assert_int_equal(s.voluntary, 150);
        close(fd);
    }
}

static void status_without_a_line_that_is_needed_is_refused(void **state) {
    (void)state;
    struct hd_proc_status s;
    for (size_t n = 0; n < sizeof status_text - 1; n++) {
        assert_false(hd_proc_parse_status(status_text, n, &s));
    }
}

static void a_mapping_line_gives_bounds_and_rights(void **state) {
    (void)state;
    static const char line[] =
        "7ffc7ac07000-7ffc7ac28000 rw-p 00000000 00:00 0                          [stack]\n";
    struct hd_proc_mapping m;
    assert_true(hd_proc_parse_mapping(line, sizeof line - 1, &m));
    assert_int_equal(m.start, 0x7ffc7ac07000);
    assert_int_equal(m.end, 0x7ffc7ac28000);
    assert_true(m.readable && m.writable && m.main_stack);
    assert_true(hd_proc_parse_mapping("1000-2000 ---p 0 00:00 0\n", 25, &m));
    assert_false(m.readable || m.writable || m.main_stack);
    assert_false(hd_proc_parse_mapping("2000-1000 rw-p\n", 15, &m));
    assert_false(hd_proc_parse_mapping("nonsense\n", 9, &m));
}

static const char *fake_maps;
static size_t fake_chunk;
static char path[16];

static long pread_fake_maps(int fd, void *buf, size_t n, uint64_t offset) {
    (void)fd;
    size_t length = strlen(fake_maps);
    size_t left = offset < length ? length - (size_t)offset : 0;
    n = n < left ? n : left;
    n = n < fake_chunk ? n : fake_chunk;
    memcpy(buf, fake_maps + offset, n);
    return (long)n;
}

static int find(uint64_t near, uint64_t *lo, uint64_t *hi) {
    struct hd_os_calls saved = hd_os;
    hd_os.pread = pread_fake_maps;
    struct hd_proc_mapping m;
    int rc = hd_proc_find_mapping(0, near, &m, path, sizeof path);
    hd_os = saved;
    if (rc == 0) {
        *lo = m.start;
        *hi = m.end;
    }
    return rc;
}

static void a_mapping_is_found_by_an_address_and_the_stack_by_its_name(void **state) {
    (void)state;
    fake_maps = "1000-2000 r-xp 00000000 00:00 0 /bin/x\n"
                "2000-3000 r-xp 00000000 00:00 0 /bin/x y/one that is cut\n"
                "3000-4000 ---p 00000000 00:00 0\n"
                "4000-8000 rw-p 00000000 00:00 0\n"
                "8000-9000 rw-p 00000000 00:00 0\n"
                "a000-b000 rw-p 00000000 00:00 0 [stack]\n";
    uint64_t lo = 1, hi = 1;
    for (fake_chunk = 1; fake_chunk < 200; fake_chunk += 13) { /* wherever the text is cut */
        assert_int_equal(find(0x4000, &lo, &hi), 0);
        assert_int_equal(lo, 0x4000);
        assert_int_equal(hi, 0x8000);
        assert_string_equal(path, "");
        assert_int_equal(find(0, &lo, &hi), 0);
        assert_int_equal(lo, 0xa000);
        assert_int_equal(hi, 0xb000);
        assert_int_equal(find(0x1100, &lo, &hi), 0);
        assert_string_equal(path, "/bin/x");
        assert_int_equal(find(0x2100, &lo, &hi), 0);
        assert_string_equal(path, "/bin/x y/one th");
        lo = hi = 1;
        assert_int_equal(find(0x9100, &lo, &hi), -ENOENT); /* a hole */
        assert_int_equal(find(0xc000, &lo, &hi), -ENOENT); /* behind all */
        assert_true(lo == 1 && hi == 1);
    }
}

static void the_own_stack_is_found(void **state) {
    (void)state;
    struct hd_proc_mapping m;
    uint64_t here = (uint64_t)__builtin_frame_address(0);
    int fd = hd_os.open_at(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(hd_proc_find_mapping(fd, 0, &m, NULL, 0), 0);
    assert_true(m.start <= here && here < m.end);
    assert_int_equal(hd_proc_find_mapping(fd, 16, &m, NULL, 0), -ENOENT);
    hd_os.close(fd);
    assert_int_equal(hd_proc_find_mapping(-1, here, &m, NULL, 0), -EBADF);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocked_call_gives_number_arguments_and_place),
        cmocka_unit_test(distinguishes_running_blocked_and_ended),
        cmocka_unit_test(a_line_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(scheduling_figures_are_three_numbers),
        cmocka_unit_test(the_state_is_found_behind_any_name),
        cmocka_unit_test(the_times_are_found_behind_any_name),
        cmocka_unit_test(a_line_of_status_is_found_behind_any_other),
        cmocka_unit_test(status_gives_masks_and_switches),
        cmocka_unit_test(status_of_a_thread_of_many_groups_is_read),
        cmocka_unit_test(status_without_a_line_that_is_needed_is_refused),
        cmocka_unit_test(a_mapping_line_gives_bounds_and_rights),
        cmocka_unit_test(a_mapping_is_found_by_an_address_and_the_stack_by_its_name),
        cmocka_unit_test(the_own_stack_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
