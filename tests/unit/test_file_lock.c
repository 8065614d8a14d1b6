/* SPDX-License-Identifier: MIT
 *
 * Locks of files and of databases, and the processes that have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cause/linux/file_lock.h"
#include "evidence.h"

static void lines_are_read(void **state) {
    struct hd_file_lock lock;
    (void)state;
    assert_true(hd_file_lock_parse("2: POSIX  ADVISORY  WRITE 4711 08:01:6163 1073741825 1073741826", &lock));
    assert_int_equal(lock.pid, 4711);
    assert_int_equal(lock.inode, 6163);
    assert_int_equal(lock.start, 0x40000001);
    assert_int_equal(lock.end, 0x40000002);
    assert_true(lock.write && !lock.waits && lock.kind == 'P');
    assert_true(hd_file_lock_parse("12:  -> OFDLCK ADVISORY  READ  -1 fd:00:9 0 EOF", &lock));
    assert_true(lock.waits && !lock.write && lock.kind == 'O' && lock.pid == -1);
    assert_true(lock.inode == 9 && lock.end == UINT64_MAX);
    assert_false(hd_file_lock_parse("", &lock));
    assert_false(hd_file_lock_parse("3: DELEG  ACTIVE    READ", &lock));
}

/* Starts a child with a lock of one byte of a file. */
static pid_t begin_holder(int fd, off_t byte) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fcntl(fd, F_SETLK, &lock);
        for (;;) {
            pause();
        }
    }
    for (struct flock seen = lock; fcntl(fd, F_GETLK, &seen) == 0 && seen.l_type == F_UNLCK; seen = lock) {
        usleep(1000);
    }
    return pid;
}

static const char *cause_of_sleep(long ms) {
    struct timespec time = {.tv_nsec = ms * 1000000};
    memset(&ctx->found_party, 0, sizeof ctx->found_party);
    return cause_blocked(SYS_clock_nanosleep, CLOCK_REALTIME, 0, address_of(&time));
}

static void a_sleep_of_sqlites_while_another_process_writes_is_a_lock(void **state) {
    enum {
        RESERVED = 0x40000001
    };
    char path[] = "/tmp/hangdog-test-XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    pid_t other = begin_holder(fd, 0); /* no byte of SQLite's */
    assert_string_equal(cause_of_sleep(100), "sleep");
    end_child(other);
    other = begin_holder(fd, RESERVED);
    assert_string_equal(cause_of_sleep(100), "lock");
    assert_int_equal(probe.party.pid, other);
    assert_int_equal(probe.party.role, HD_PARTY_HOLDER);
    assert_string_equal(probe.evidence.name, strrchr(path, '/') + 1);
    assert_string_equal(cause_of_sleep(30), "sleep"); /* SQLite never sleeps for this time */
    close(fd);
    assert_string_equal(cause_of_sleep(100), "sleep"); /* of a file that this process does not have open */
    end_child(other);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test_setup_teardown(a_sleep_of_sqlites_while_another_process_writes_is_a_lock, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
