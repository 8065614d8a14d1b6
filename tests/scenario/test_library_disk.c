/* SPDX-License-Identifier: MIT
 *
 * A file system that stalls: detection, durations and stopping go on; only the reports come later. And what a
 * call waits for there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stalled_disk.h"

static struct spool backing;
static pid_t file_system;
static const char *why_not; /* the file system cannot be had here */

static bool is_mounted(void *unused) {
    (void)unused;
    struct stat own, above;
    char parent[80];
    snprintf(parent, sizeof parent, "%s/..", spool.path);
    int status;
    if (waitpid(file_system, &status, WNOHANG) != 0) {
        file_system = 0;
        return true;
    }
    return stat(spool.path, &own) == 0 && stat(parent, &above) == 0 && own.st_dev != above.st_dev;
}

static void make_file(const char *name) {
    int fd = openat(backing.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static void stall_file_system(bool on) {
    if (on) {
        make_file("stall");
    } else {
        unlinkat(backing.fd, "stall", 0);
    }
}

/* One of our threads is in a call that waits for the file system's answer. */
static bool file_system_stalls(void *unused) {
    (void)unused;
    bool found = false;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e; tasks != NULL && !found && (e = readdir(tasks)) != NULL;) {
        char path[300], name[64];
        snprintf(path, sizeof path, "%s/wchan", e->d_name);
        int fd = openat(dirfd(tasks), path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, name, sizeof name - 1) : 0;
        name[n > 0 ? n : 0] = '\0';
        found = strstr(name, "request_wait_answer") != NULL || strstr(name, "fuse") != NULL;
        if (fd >= 0) {
            close(fd);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return found;
}

/* Beside this program. */
static void start_file_system(void) {
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 64);
    assert_true(n > 0);
    program[n] = '\0';
    snprintf(strrchr(program, '/'), 64, "/programs/stallfs");
    file_system = fork();
    if (file_system == 0) {
        execl(program, program, backing.path, spool.path, NULL);
        _exit(127);
    }
}

static int begin_file_system(void **state) {
    (void)state;
    spool_make(&spool);
    spool_make(&backing);
    why_not = access("/dev/fuse", R_OK | W_OK) != 0 ? "/dev/fuse cannot be opened" : NULL;
    if (why_not == NULL) {
        start_file_system();
        why_not = !wait_for(is_mounted, NULL) || file_system == 0 ? "the file system was not mounted" : NULL;
    }
    if (why_not == NULL) {
        struct spool mounted;
        spool_open(&mounted, spool.path);
        close(spool.fd);
        spool.fd = mounted.fd;
        library_start(&spool);
    }
    return 0;
}

static int end_file_system(void **state) {
    (void)state;
    stall_file_system(false);
    unlinkat(backing.fd, "stall-reads", 0);
    unlinkat(backing.fd, "stall-closes", 0);
    hangdog_stop();
    if (file_system > 0) {
        close(spool.fd);
        spool.fd = -1;
        kill(file_system, SIGTERM); /* it unmounts */
        waitpid(file_system, NULL, 0);
        umount2(spool.path, MNT_DETACH);
        file_system = 0;
    }
    rmdir(spool.path);
    spool_remove(&backing);
    return 0;
}

static void skip_without_file_system(void) {
    if (why_not != NULL) {
        print_message("no stalling file system here: %s\n", why_not);
        skip();
    }
}

static void a_file_system_that_stalls_delays_the_reports_and_nothing_else(void **state) {
    (void)state;
    skip_without_file_system();
    hangs_on_a_stalled_disk(stall_file_system, file_system_stalls, &backing);
}

static void stop_does_not_wait_for_a_file_system_that_stalls(void **state) {
    (void)state;
    skip_without_file_system();
    stop_is_quick_on_a_stalled_disk(stall_file_system, file_system_stalls);
}

/* As a server does it; the file's name is the argument's. */
static void block_sendfile(uint64_t path) {
    int stream[2], file = open((const char *)(uintptr_t)path, O_RDONLY | O_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, stream) != 0 ||
        sendfile(stream[0], file, NULL, 1) != 1) {
        fprintf(stderr, "sendfile: %s\n", strerror(errno));
    }
    close(stream[0]);
    close(stream[1]);
    close(file);
}

/* The page is not in memory. */
__attribute__((noinline)) static void touch_page(uint64_t path) {
    int file = open((const char *)(uintptr_t)path, O_RDONLY | O_CLOEXEC);
    const volatile char *page = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
    (void)page[0];
    close(file);
}

/* What was written comes to the disk in the end. */
static void close_file(uint64_t path) {
    close(open((const char *)(uintptr_t)path, O_WRONLY | O_CLOEXEC));
}

static void give_pipe_to_file(uint64_t path) {
    int pipes[2], file = open((const char *)(uintptr_t)path, O_WRONLY | O_CLOEXEC);
    if (pipe2(pipes, O_CLOEXEC) != 0 || write(pipes[1], "x", 1) != 1 ||
        splice(pipes[0], NULL, file, NULL, 1, 0) != 1) {
        fprintf(stderr, "splice: %s\n", strerror(errno));
    }
    close(pipes[0]);
    close(pipes[1]);
    close(file);
}

/* The hang in `block`, with a file for which the disk does not do yet what `stall` names. A new reference. */
static json_t *hang_while(const char *stall, void (*block)(uint64_t)) {
    char path[96];
    skip_without_file_system();
    snprintf(path, sizeof path, "%s/large.bin", spool.path);
    make_file("large.bin");
    make_file(stall);
    looper_start(&looper, "main", 0);
    looper_post(&looper, block, (uint64_t)(uintptr_t)path);
    nap_ms(5 * T);
    assert_int_equal(unlinkat(backing.fd, stall, 0), 0);
    looper_wait(&looper);
    looper_stop(&looper);
    json_t *hangs = spool_wait(&spool, NULL, 1), *hang = json_incref(json_array_get(hangs, 0));
    json_decref(hangs);
    return hang;
}

static void sendfile_from_a_disk_that_stalls_waits_for_the_file(void **state) {
    (void)state;
    json_t *hang = hang_while("stall-reads", block_sendfile);
    assert_string_equal(report_cause(hang), "disk");
    assert_string_equal(report_text(json_object_get(hang, "cause"), "path"), "large.bin");
    json_decref(hang);
}

static void a_close_on_a_disk_that_stalls_waits_for_the_disk(void **state) {
    (void)state;
    json_t *hang = hang_while("stall-closes", close_file);
    assert_string_equal(report_cause(hang), "disk");
    assert_string_equal(report_text(json_object_get(hang, "cause"), "syscall"), "close");
    json_decref(hang);
}

static void what_a_pipe_gives_a_disk_that_stalls_waits_for_the_file(void **state) {
    (void)state;
    json_t *hang = hang_while("stall", give_pipe_to_file);
    assert_string_equal(report_cause(hang), "disk");
    assert_string_equal(report_text(json_object_get(hang, "cause"), "path"), "large.bin");
    json_decref(hang);
}

static void memory_of_a_disk_that_stalls_is_a_page_fault(void **state) {
    (void)state;
    json_t *hang = hang_while("stall-reads", touch_page);
    assert_string_equal(report_cause(hang), "page-fault");
    assert_true(report_blames(hang, touch_page));
    json_decref(hang);
}

#define STALL(name) cmocka_unit_test_setup_teardown(name, begin_file_system, end_file_system)

int main(void) {
    const struct CMUnitTest tests[] = {
        STALL(a_file_system_that_stalls_delays_the_reports_and_nothing_else),
        STALL(sendfile_from_a_disk_that_stalls_waits_for_the_file),
        STALL(a_close_on_a_disk_that_stalls_waits_for_the_disk),
        STALL(what_a_pipe_gives_a_disk_that_stalls_waits_for_the_file),
        STALL(memory_of_a_disk_that_stalls_is_a_page_fault),
        STALL(stop_does_not_wait_for_a_file_system_that_stalls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
