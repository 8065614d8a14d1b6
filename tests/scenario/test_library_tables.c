/* SPDX-License-Identifier: MIT
 *
 * Where the kernel (before 5.9) or a container denies the call that gives our threads descriptor tables of
 * their own, nothing of ours is among the program's numbers all the same, and we close none of its files: it
 * is watched as ever, or, where no other call is left, not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "denied.h"
#include "library.h"
#include "os/os.h"

#define T THRESHOLD_MS
#define FILES 16
#define NO_FILTER 77

static int end(void **state) {
    (void)state;
    spool_remove(&spool);
    return 0;
}

/* ---- a daemon, in a process of its own ------------------------------------------------------------- */

static struct {
    int fd;
    ino_t inode;
} files[FILES];

static void open_files(void) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;
    for (unsigned i = 0; i < FILES; i++) {
        char path[] = "/tmp/hangdog-daemon-XXXXXX";
        files[i].fd = mkstemp(path);
        CHECK(files[i].fd == 3 + (int)i && unlink(path) == 0); /* the lowest that is free */
        CHECK(fcntl(files[i].fd, F_SETLK, &whole) == 0 && fstat(files[i].fd, &st) == 0);
        files[i].inode = st.st_ino;
    }
}

/* A child asks for the locks; it has none of its own. */
static void files_are_there_and_locked(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        for (unsigned i = 0; i < FILES; i++) {
            struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
            struct stat st;
            CHECK(fstat(files[i].fd, &st) == 0 && st.st_ino == files[i].inode);
            CHECK(fcntl(files[i].fd, F_GETLK, &whole) == 0 && whole.l_type == F_WRLCK);
        }
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static atomic_bool enough;
static atomic_uint opened;

/* Nobody else takes a number meanwhile, for however short a time. */
static void *open_the_lowest(void *unused) {
    while (!atomic_load(&enough)) {
        int fd = open("/dev/null", O_RDONLY);
        CHECK(fd == 3 + FILES && close(fd) == 0);
        atomic_fetch_add(&opened, 1);
    }
    return unused;
}

static int daemon_role(void) {
    pthread_t opener;
    if (!deny(SYS_close_range, ENOSYS)) {
        return NO_FILTER;
    }
    unsigned before = entries_of("/proc/self/fd");
    hangdog_options o = library_options(&spool);
    CHECK(hangdog_start(&o) == 0);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    CHECK(loop != NULL);
    hangdog_before_wait(loop);
    nap_ms(T);
    CHECK(entries_of("/proc/self/fd") == before);
    closefrom(3);
    open_files();
    CHECK(pthread_create(&opener, NULL, open_the_lowest, NULL) == 0);
    hangdog_after_wait(loop);
    block_sleep(3 * T);
    hangdog_before_wait(loop);
    nap_ms(T);
    files_are_there_and_locked();
    hangdog_loop_unwatch(loop);
    files_are_there_and_locked();
    CHECK(hangdog_stop() == 0);
    atomic_store(&enough, true);
    pthread_join(opener, NULL);
    files_are_there_and_locked();
    CHECK(atomic_load(&opened) > 0);
    return 0;
}

static bool is_default(int signal) {
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

static int denied_role(void) {
    unsigned before = entries_of("/proc/self/fd");
    if (!deny(SYS_close_range, EPERM) || !deny(SYS_unshare, EPERM)) {
        return NO_FILTER;
    }
    for (unsigned i = 0; i < 3; i++) {
        hangdog_options o = library_options(&spool);
        CHECK(hangdog_start(&o) == -EPERM);
        CHECK(hangdog_loop_watch("main", 0) == NULL);
        CHECK(hangdog_stop() == 0);
        CHECK(entries_of("/proc/self/fd") == before && is_default(SIGURG));
    }
    for (uint64_t late = now_ns() + 60 * SECOND; !SANITIZED && entries_of("/proc/self/task") > 1;) {
        CHECK(now_ns() < late); /* a thread that was joined may be listed for a moment longer */
    }
    return 0;
}

static int (*real_private_table)(void);
static atomic_uint tables;

static int one_table(void) {
    return atomic_fetch_add(&tables, 1) % 2 == 0 ? real_private_table() : -EPERM;
}

/* The monitor alone would see hangs and tell none. */
static void where_the_second_thread_cannot_be_made_the_first_one_ends(void **state) {
    (void)state;
    library_start(&spool); /* a sanitizer's runtime makes a thread with the first one */
    assert_int_equal(hangdog_stop(), 0);
    unsigned threads = entries_of("/proc/self/task");
    hangdog_options o = library_options(&spool);
    real_private_table = hd_os.private_table;
    hd_os.private_table = one_table;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(hangdog_start(&o), -EPERM);
        assert_null(hangdog_loop_watch("main", 0));
        assert_true(is_default(SIGURG));
    }
    hd_os.private_table = real_private_table;
    assert_threads(threads);
    library_start(&spool);
    assert_int_equal(hangdog_stop(), 0);
}

/* ---- tests ----------------------------------------------------------------------------------------- */

static void run(const char *name) {
    struct role role;
    role_start(&role, name, &spool);
    int status = role_wait(&role);
    if (status == NO_FILTER) {
        print_message("no seccomp filter can be had here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void a_daemon_on_an_old_kernel_is_watched_and_keeps_its_files(void **state) {
    (void)state;
    run("daemon");
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_int_equal(json_array_size(hangs), 1);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
}

static void where_both_calls_are_denied_the_start_says_so_and_changes_nothing(void **state) {
    (void)state;
    run("denied");
    assert_int_equal(spool_count(&spool), 0);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        spool_open(&spool, argv[2]);
        return strcmp(argv[1], "daemon") == 0 ? daemon_role() : denied_role();
    }
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_spool, end)
    const struct CMUnitTest tests[] = {
        CASE(a_daemon_on_an_old_kernel_is_watched_and_keeps_its_files),
        CASE(where_both_calls_are_denied_the_start_says_so_and_changes_nothing),
        CASE(where_the_second_thread_cannot_be_made_the_first_one_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
