/* SPDX-License-Identifier: MIT
 *
 * The fatal marker next to the report of a hang that lasts: a reader that can lock it knows that the process
 * died.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "publish/fatal_marker.h"
#include "report/spool_files.h"

static struct hd_run *run;
static struct hd_publisher publisher;
static struct hd_turns turns;
static uint8_t marker_page[HD_TURNS_MAX][HD_FATAL_MARKER_BYTES]
    __attribute__((aligned(HD_FATAL_MARKER_BYTES)));
static struct hd_turn *hang;
static struct hd_os_calls real;
static char folder[] = "/tmp/hangdog-marker-XXXXXX";

static int set_up(void **state) {
    (void)state;
    real = hd_os;
    memcpy(strrchr(folder, '-'), "-XXXXXX", sizeof "-XXXXXX");
    assert_non_null(mkdtemp(folder));
    run = calloc(1, sizeof *run);
    assert_non_null(run);
    memset(&turns, 0, sizeof turns);
    hang = turns.turn;
    publisher = (struct hd_publisher){
        .run = run,
        .turns = &turns,
        .marker_page = marker_page,
        .marker_fd = -1,
        .spool = {.dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)},
    };
    assert_true(publisher.spool.dir_fd >= 0);
    hang->report.id[0] = 1;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    hd_os = real;
    close(publisher.spool.dir_fd);
    free(run);
    return rmdir(folder); /* no file of ours remains */
}

/* How many files of this kind are there; of them, how many can be locked. */
static unsigned files_of(enum hd_spool_file what, unsigned *lockable) {
    DIR *dir = opendir(folder);
    unsigned count = 0;
    *lockable = 0;
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        int fd = hd_spool_what(e->d_name) == what ? openat(dirfd(dir), e->d_name, O_RDWR | O_CLOEXEC) : -1;
        if (fd >= 0) {
            count++;
            *lockable += flock(fd, LOCK_SH | LOCK_NB) == 0;
            close(fd);
        }
    }
    closedir(dir);
    return count;
}

static unsigned seen_unlocked, locks;

static int lock_while_seen(int fd, int operation) {
    unsigned lockable;
    files_of(HD_SPOOL_OPEN, &lockable);
    seen_unlocked += lockable;
    locks++;
    return real.flock(fd, operation);
}

static void readers_see_a_marker_only_while_it_is_locked(void **state) {
    unsigned lockable;
    (void)state;
    hd_os.flock = lock_while_seen;
    hd_fatal_marker_update(&publisher, hang, false);
    assert_int_equal(locks, 1);
    assert_int_equal(seen_unlocked, 0);
    assert_int_equal(files_of(HD_SPOOL_OPEN, &lockable), 1);
    assert_int_equal(lockable, 0);
    assert_int_equal(files_of(HD_SPOOL_TEMP, &lockable), 0);
    hd_fatal_marker_update(&publisher, hang, true);
    assert_int_equal(files_of(HD_SPOOL_OPEN, &lockable), 0);
    assert_int_equal(hang->report.marker, 0);
}

static int is_locked_elsewhere(int fd, int operation) {
    (void)fd, (void)operation;
    return -EWOULDBLOCK;
}

static void a_marker_that_cannot_be_locked_is_created_by_the_next_update(void **state) {
    unsigned lockable;
    (void)state;
    hd_os.flock = is_locked_elsewhere;
    hd_fatal_marker_update(&publisher, hang, false);
    assert_int_equal(files_of(HD_SPOOL_OPEN, &lockable), 0);
    assert_int_equal(files_of(HD_SPOOL_TEMP, &lockable), 0);
    hd_os.flock = real.flock;
    hd_fatal_marker_update(&publisher, hang, false);
    assert_int_equal(files_of(HD_SPOOL_OPEN, &lockable), 1);
    assert_int_equal(lockable, 0);
    hd_fatal_marker_update(&publisher, hang, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(readers_see_a_marker_only_while_it_is_locked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_marker_that_cannot_be_locked_is_created_by_the_next_update, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
