/* SPDX-License-Identifier: MIT
 *
 * What stands behind a descriptor's number: the process's terminal is one object by each of its names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "recognise/open_files.h"

#define NO_TERMINALS 77

static int proc_fd;
static const char *link_text, *stat_text;
static struct hd_os_calls real;

static int start(void **state) {
    (void)state;
    hd_os_clock_init();
    real = hd_os;
    proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return proc_fd < 0;
}

static int end(void **state) {
    (void)state;
    hd_os = real;
    return close(proc_fd);
}

static uint64_t object(int fd) {
    bool open = true;
    uint64_t of = hd_open_files_identity(proc_fd, hd_thread_id_of(getpid()), fd, &open);
    return open ? of : 0;
}

static long give(const char *text, char *buf, size_t n) {
    size_t used = 0;
    for (; text[used] != '\0'; used++) {
        assert_true(used < n);
        buf[used] = text[used];
    }
    return (long)used;
}

static long one_link(int dir, const char *path, char *buf, size_t n) {
    (void)dir;
    (void)path;
    return give(link_text, buf, n);
}

static long one_text(int fd, void *buf, size_t n) {
    (void)fd;
    return give(stat_text, buf, n);
}

static uint64_t object_of_link(const char *link) {
    link_text = link;
    return object(0);
}

/* Of the kernel's number a part of the minor one is above the major one: terminal 300 is 0x10882c. */
static void its_number_names_the_terminal(void **state) {
    (void)state;
    hd_os.readlink_at = one_link;
    hd_os.read = one_text;
    stat_text = "9 (a) S 1 9 9 1083436 9 0";
    assert_true(object_of_link("/dev/tty") == object_of_link("/dev/pts/300"));
    assert_true(object_of_link("/dev/tty") != object_of_link("/dev/pts/44"));
    stat_text = "9 (a) S 1 9 9 1025 9 0"; /* a console: 4, 1 */
    assert_true(object_of_link("/dev/tty") != object_of_link("/dev/pts/1"));
    assert_true(object_of_link("/dev/tty") != object_of_link("/dev/tt"));
}

static int terminal(int *master) {
    char *name;
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0 || (name = ptsname(*master)) == NULL) {
        return -1;
    }
    return open(name, O_RDWR | O_NOCTTY);
}

/* In a session of its own. */
static int compare(void) {
    int master, other_master;
    if (setsid() < 0) {
        return NO_TERMINALS;
    }
    int own = terminal(&master), other = terminal(&other_master);
    if (own < 0 || other < 0 || ioctl(own, TIOCSCTTY, 0) != 0) {
        return NO_TERMINALS;
    }
    int any = open("/dev/tty", O_RDWR);
    if (any < 0) {
        return NO_TERMINALS;
    }
    start(NULL);
    return (object(any) != object(own)) | (object(any) == object(other)) << 1 |
           (object(any) == object(master)) << 2;
}

static void the_terminal_of_the_process_is_one_object_by_both_names(void **state) {
    (void)state;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(compare());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_TERMINALS) {
        print_message("there are no terminals here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static enum hd_wait_evidence evidence_of(const struct hd_wait_descriptors *waits) {
    struct hd_kinds kinds;
    hd_open_files_kinds(proc_fd, hd_thread_id_of(getpid()), waits, &kinds);
    return hd_kinds_evidence(&kinds);
}

/* cmake waits for a child's output beside a pipe of its own. Where the worker comes late the child's pipes
 * are closed, and what is left of the set is no loop's. */
static void closed_descriptors_are_nothing_that_a_loop_waits_for(void **state) {
    int own[2], child[2];
    (void)state;
    assert_int_equal(pipe(own), 0);
    assert_int_equal(pipe(child), 0);
    struct hd_wait_descriptors waits = {.fds = 2, .fd = {own[0], child[0]}};
    assert_int_equal(evidence_of(&waits), HD_WAIT_EVIDENCE_CALL);
    close(child[0]);
    close(child[1]);
    assert_int_equal(evidence_of(&waits), HD_WAIT_EVIDENCE_CALL);
    close(own[0]);
    close(own[1]);
    assert_int_equal(evidence_of(&waits), HD_WAIT_EVIDENCE_CALL);
}

/* bash reads a pipe by the number of its standard input, and has that back when the worker comes late. */
static void a_number_that_is_dev_null_by_now_says_nothing_for_a_loop(void **state) {
    (void)state;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(null >= 0);
    struct hd_wait_descriptors waits = {.fds = 1, .fd = {null}};
    assert_int_equal(evidence_of(&waits), HD_WAIT_EVIDENCE_CALL);
    close(null);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, start, end)
    const struct CMUnitTest tests[] = {
        CASE(its_number_names_the_terminal),
        CASE(the_terminal_of_the_process_is_one_object_by_both_names),
        CASE(closed_descriptors_are_nothing_that_a_loop_waits_for),
        CASE(a_number_that_is_dev_null_by_now_says_nothing_for_a_loop),
    };
    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
