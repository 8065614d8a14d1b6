/* SPDX-License-Identifier: MIT
 *
 * A disk that does not answer: detection, durations and stopping go on; only the reports come later. Once by
 * a write that blocks, once by a file system that stalls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"
#include "os/os.h"
#include "watch/message.h"

#define T THRESHOLD_MS
#define QUICK_NS ((SANITIZED ? 1000 : 100) * MS)

/* With the thread sanitizer all of a stack is more than the room, and one sample of each is had. */
#define SAMPLES_MIN (SANITIZED ? 1 : 2)

/* A worker that is left at its disk is never joined. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "report_thread_leaks=0";
}

/* Each of its samples is large: they fill all the room that they are given. */
static void spin_deep(uint64_t ms) {
    volatile char filler[12 * 1024];
    filler[0] = 0;
    block_spin(ms);
    filler[1] = filler[0];
}

static json_int_t samples_of(const json_t *report) {
    return json_integer_value(json_object_get(json_object_get(report, "samples"), "taken"));
}

static json_int_t captures_of(const json_t *report) {
    return json_integer_value(json_object_get(json_object_get(report, "monitor"), "samples"));
}

/* What both disks have to show: the disk stalls before the first report and answers after three hangs. */
static void hangs_on_a_stalled_disk(void (*stall)(bool), bool (*is_stalling)(void *),
                                    const struct spool *behind) {
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    stall(true);
    uint64_t took[3];
    took[0] = looper_call(&looper, block_sleep, 2 * T);
    assert_true(wait_for(is_stalling, NULL));
    took[1] = looper_call(&looper, spin_deep, 3 * T);
    took[2] = looper_call(&looper, block_spin, 2 * T);
    assert_int_equal(spool_count(behind), 0); /* not by the folder itself: who looks there waits too */
    stall(false);
    json_t *hangs = spool_wait(&spool, "hang", 3);
    void (*const blocks[])(uint64_t) = {block_sleep, spin_deep, block_spin};
    for (unsigned i = 0; i < 3; i++) {
        assert_near(report_ns(json_array_get(hangs, i), "duration_ns"), took[i]);
        json_int_t reported = samples_of(json_array_get(hangs, i)),
                   taken = captures_of(json_array_get(hangs, i));
        if (!report_blames(json_array_get(hangs, i), blocks[i]) || reported < SAMPLES_MIN ||
            taken > reported + 1) {
            json_dumpf(json_array_get(hangs, i), stderr, JSON_INDENT(1));
            fail_msg("the report of hang %u blames another function, or has too few samples, or more were "
                     "taken than there was room for",
                     i);
        }
    }
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
}

/* How long it took, in ns. The disk is left stalled. */
static uint64_t stop_on_a_stalled_disk(void (*stall)(bool), bool (*is_stalling)(void *)) {
    looper_start(&looper, "main", 0);
    stall(true);
    looper_call(&looper, block_sleep, 2 * T);
    assert_true(wait_for(is_stalling, NULL));
    looper_stop(&looper);
    uint64_t before = now_ns();
    int rc = hangdog_stop();
    uint64_t took = now_ns() - before;
    assert_int_equal(rc, 0);
    return took;
}

/* What it waits for the worker is most of what it may take: one that got no processor then has two more
 * tries, and one that waits for longer fails in all of them. */
static void stop_is_quick_on_a_stalled_disk(void (*stall)(bool), bool (*is_stalling)(void *)) {
    uint64_t took = stop_on_a_stalled_disk(stall, is_stalling);
    for (unsigned i = 0; i < 2 && took >= QUICK_NS; i++) {
        stall(false);
        json_decref(spool_wait(&spool, "session", i + 1)); /* the worker that was left is done */
        library_start(&spool);
        took = stop_on_a_stalled_disk(stall, is_stalling);
    }
    if (took >= QUICK_NS) {
        stall(false);
        fail_msg("stop took %.1f ms", (double)took / MS);
    }
}

/* ---- a write that blocks -------------------------------------------------------------------------- */

static atomic_bool stalled;
static atomic_int stalling_tid; /* the first worker that came; others' writes pass */
static long (*true_write)(int, const void *, size_t);

static long stalling_write(int fd, const void *buf, size_t n) {
    int none = 0, own = gettid();
    while (atomic_load(&stalled) &&
           (atomic_compare_exchange_strong(&stalling_tid, &none, own) || atomic_load(&stalling_tid) == own)) {
        nap_ms(2);
    }
    int mine = own;
    atomic_compare_exchange_strong(&stalling_tid, &mine, 0);
    return true_write(fd, buf, n);
}

static void stall_write(bool on) {
    atomic_store(&stalled, on);
}

static bool write_stalls(void *unused) {
    (void)unused;
    return atomic_load(&stalling_tid) != 0;
}

static bool write_goes_on(void *unused) {
    return !write_stalls(unused);
}

static int begin_write(void **state) {
    (void)state;
    spool_make(&spool);
    library_start(&spool);
    return 0;
}

static int end_write(void **state) {
    (void)state;
    atomic_store(&stalled, false);
    hangdog_stop();
    bool left = wait_for(write_goes_on, NULL);
    spool_remove(&spool);
    return left ? 0 : -1;
}

static void a_write_that_blocks_delays_the_reports_and_nothing_else(void **state) {
    (void)state;
    hangs_on_a_stalled_disk(stall_write, write_stalls, &spool);
}

static void stop_does_not_wait_for_a_write_that_blocks(void **state) {
    (void)state;
    stop_is_quick_on_a_stalled_disk(stall_write, write_stalls);
    /* and a new run has nothing to do with the worker that was left behind */
    struct spool other;
    spool_make(&other);
    library_start(&other);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    json_decref(spool_wait(&other, "hang", 1));
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    spool_remove(&other);
}

static int ends_fds[2];

/* Blocked in one call until it is told to end. */
static void block_until_released(uint64_t unused) {
    char byte;
    (void)unused;
    (void)!read(ends_fds[0], &byte, 1);
}

/* A deep stack, blocked: two or three of them fill the ring. */
static void block_deep(uint64_t ms) {
    uint8_t frame[48 * 1024];
    memset(frame, 1, sizeof frame);
    __asm__ volatile("" : : "r"(frame) : "memory");
    block_sleep(ms);
    __asm__ volatile("" : : "r"(frame) : "memory");
}

static uint64_t suppressed_ns(const struct spool *s, unsigned count) {
    json_t *sessions = spool_wait(s, "session", 1); /* stop may have left the worker at a slow disk */
    json_t *list = json_object_get(json_object_get(json_array_get(sessions, 0), "session"), "suppressed");
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(report_ns(json_array_get(list, 0), "count"), count);
    uint64_t ns = report_ns(json_array_get(list, 0), "max_ns");
    json_decref(sessions);
    return ns;
}

#define BUSY_MS 800 /* its short turns stay below it also where they wait for a processor */

/* The worker is away for longer than there is room for what it should be told. */
static void reports_a_hang_that_ends_meanwhile_and_counts_later_ones(void **state) {
    (void)state;
    struct looper busy = {0};
    assert_int_equal(pipe2(ends_fds, O_CLOEXEC), 0);
    looper_start(&looper, "main", 0);
    looper_start(&busy, "busy", BUSY_MS * MS);
    looper_call(&looper, block_sleep, 1);
    looper_call(&busy, block_sleep, 1);
    stall_write(true);
    looper_post(&looper, block_until_released, 0);
    assert_true(wait_for(write_stalls, NULL));
    for (unsigned i = 0; i < 60; i++) {
        looper_call(&busy, i < 5 ? block_deep : block_sleep, 4 * INTERVAL_MS);
    }
    uint64_t untold = looper_call(&busy, block_sleep, BUSY_MS + T);
    assert_int_equal(write(ends_fds[1], "", 1), 1);
    looper_wait(&looper);
    uint64_t took = looper.took_ns;
    nap_ms(5 * INTERVAL_MS);
    stall_write(false);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), took);
    assert_true(report_blames(json_array_get(hangs, 0), block_until_released));
    json_decref(hangs);
    looper_call(&busy, block_sleep_other, BUSY_MS + T);
    hangs = spool_wait(&spool, "hang", 2);
    assert_true(report_blames(json_array_get(hangs, 1), block_sleep_other));
    json_decref(hangs);
    looper_stop(&busy);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    assert_near(suppressed_ns(&spool, 1), untold);
    close(ends_fds[0]);
    close(ends_fds[1]);
}

static size_t reports_of(bool complete) {
    json_t *hangs = spool_reports(&spool, "hang", complete);
    size_t count = json_array_size(hangs);
    json_decref(hangs);
    return count;
}

static bool all_followed_are_reported(void *unused) {
    (void)unused;
    return reports_of(true) >= HD_FOLLOWED_MAX && reports_of(true) == reports_of(false);
}

/* More loops hang at once than the worker, which is away, could be told of: those that it follows end for it,
 * too, and the others are counted. */
static void the_ends_of_many_hangs_are_not_lost(void **state) {
    (void)state;
    enum { MANY = 60 };
    static struct looper many[MANY];
    assert_int_equal(pipe2(ends_fds, O_CLOEXEC), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    for (unsigned i = 0; i < MANY; i++) {
        looper_start(&many[i], "one of many", 0);
        looper_call(&many[i], block_sleep, 1);
    }
    stall_write(true);
    looper_post(&looper, block_until_released, 0);
    assert_true(wait_for(write_stalls, NULL));
    for (unsigned i = 0; i < MANY; i++) {
        looper_post(&many[i], block_sleep, 3 * T);
    }
    for (unsigned i = 0; i < MANY; i++) {
        looper_wait(&many[i]);
    }
    assert_int_equal(write(ends_fds[1], "", 1), 1);
    looper_wait(&looper);
    nap_ms(5 * INTERVAL_MS);
    stall_write(false);
    assert_true(wait_for(all_followed_are_reported, NULL));
    nap_ms(20 * INTERVAL_MS); /* perhaps one more, that came late into a place that was free again */
    for (unsigned i = 0; i < MANY; i++) {
        looper_stop(&many[i]);
    }
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    size_t reported = reports_of(true);
    assert_int_equal(reports_of(false), reported);
    suppressed_ns(&spool, MANY + 1 - (unsigned)reported);
    close(ends_fds[0]);
    close(ends_fds[1]);
}

/* ---- a file system that stalls -------------------------------------------------------------------- */

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

int main(void) {
    true_write = hd_os.write;
    hd_os.write = stalling_write;
#define WRITE(name) cmocka_unit_test_setup_teardown(name, begin_write, end_write)
#define STALL(name) cmocka_unit_test_setup_teardown(name, begin_file_system, end_file_system)
    const struct CMUnitTest tests[] = {
        WRITE(a_write_that_blocks_delays_the_reports_and_nothing_else),
        WRITE(reports_a_hang_that_ends_meanwhile_and_counts_later_ones),
        WRITE(the_ends_of_many_hangs_are_not_lost),
        WRITE(stop_does_not_wait_for_a_write_that_blocks),
        STALL(a_file_system_that_stalls_delays_the_reports_and_nothing_else),
        STALL(sendfile_from_a_disk_that_stalls_waits_for_the_file),
        STALL(a_close_on_a_disk_that_stalls_waits_for_the_disk),
        STALL(what_a_pipe_gives_a_disk_that_stalls_waits_for_the_file),
        STALL(memory_of_a_disk_that_stalls_is_a_page_fault),
        STALL(stop_does_not_wait_for_a_file_system_that_stalls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
