/* SPDX-License-Identifier: MIT
 *
 * The worker's jail: what a hostile file could make it do fails, and what it needs still works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "namer/jail.h"

/* The exit status of `work` in a process of its own, where it is in the jail; -signal. */
static int in_jail(int (*work)(int fd), int fd) {
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(jail_limit(JAIL_READS_OPEN) && jail_enter(JAIL_READS_OPEN) ? work(fd) : 100);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Each as a system call: libc would try others. */
static int count_allowed(int fd) {
    char room[256];
    const long calls[][7] = {
        {SYS_openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY},
        {SYS_openat, AT_FDCWD, (long)"/tmp/hangdog-test-jail", O_CREAT | O_WRONLY, 0600},
        {SYS_newfstatat, AT_FDCWD, (long)"/etc/passwd", (long)room, 0},
        {SYS_newfstatat, AT_FDCWD, (long)"/etc/passwd", (long)room, AT_SYMLINK_NOFOLLOW},
        {SYS_socket, AF_INET, SOCK_STREAM, 0},
        {SYS_socket, AF_UNIX, SOCK_STREAM, 0},
        {SYS_connect, fd, 0, 0},
        {SYS_sendto, fd, (long)"x", 1, 0, 0, 0},
        {SYS_clone, SIGCHLD},
        {SYS_execve, (long)"/bin/true", 0, 0},
        {SYS_unlinkat, AT_FDCWD, (long)"/tmp/hangdog-test-none", 0},
        {SYS_renameat, AT_FDCWD, (long)"/tmp/hangdog-test-none", AT_FDCWD, (long)"/tmp/hangdog-test-none"},
        {SYS_ptrace, 16, 1, 0, 0},
        {SYS_kill, 1, 0},
        {SYS_kill, 0, 0},
        {SYS_tgkill, getppid(), getppid(), 0},
        {SYS_tgkill, getppid(), getpid(), 0},
        {SYS_chdir, (long)"/"},
        {SYS_setrlimit, RLIMIT_CPU, 0},
        {SYS_prlimit64, 0, RLIMIT_CPU, 0, 0},
        {SYS_ioctl, 0, 0x5412, (long)"x"},
        {SYS_process_vm_readv, 1, 0, 0, 0, 0, 0},
        {SYS_memfd_create, (long)"x", 0},
        {SYS_mount, 0, 0, 0, 0, 0},
        {SYS_prctl, 22, 0, 0, 0, 0},
        {SYS_io_uring_setup, 1, 0},
        {SYS_bpf, 0, 0, 0},
        {SYS_userfaultfd, 0},
    };
    int allowed = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const long *c = calls[i];
        if (syscall(c[0], c[1], c[2], c[3], c[4], c[5], c[6]) == 0 || errno != EPERM) {
            static const char start[] = "allowed: call ";
            char digits[8] = "000\n";
            digits[0] = (char)('0' + c[0] / 100);
            digits[1] = (char)('0' + c[0] / 10 % 10);
            digits[2] = (char)('0' + c[0] % 10);
            (void)!write(STDERR_FILENO, start, sizeof start - 1);
            (void)!write(STDERR_FILENO, digits, 4);
            allowed++;
        }
    }
    return allowed;
}

static void it_opens_connects_and_starts_nothing(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(in_jail(count_allowed, ends[0]), 0);
    close(ends[0]);
    close(ends[1]);
}

static int use_what_it_needs(int fd) {
    char byte = 0;
    struct stat st;
    void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED || pread(fd, &byte, 1, 0) != 1 || byte != 'h' || *(char *)mapped != 'h') {
        return 1;
    }
    if (fstat(fd, &st) != 0 || st.st_size != 5 || lseek(fd, 0, SEEK_SET) != 0 || read(fd, &byte, 1) != 1) {
        return 2;
    }
    for (size_t bytes = 16; bytes < ((size_t)64 << 20); bytes *= 4) {
        char *memory = malloc(bytes);
        if (memory == NULL) {
            return 3;
        }
        memset(memory, 1, bytes);
        free(memory);
    }
    if (syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0) != 0) { /* abort() */
        return 5;
    }
    int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return again >= 0 && close(again) == 0 && munmap(mapped, 4096) == 0 ? 0 : 4;
}

static int file_with_a_text(void) {
    char path[] = "/tmp/hangdog-test-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, "hello", 5), 5);
    return fd;
}

static void it_reads_maps_and_allocates(void **state) {
    (void)state;
    int fd = file_with_a_text();
    assert_int_equal(in_jail(use_what_it_needs, fd), 0);
    close(fd);
}

static int write_to(int fd) {
    return write(fd, "more", 4) == 4 ? 0 : 1;
}

static void a_file_that_is_open_does_not_grow(void **state) {
    (void)state;
    int ends[2], fd = file_with_a_text();
    char text[8];
    struct stat st;
    assert_int_equal(in_jail(write_to, fd), -SIGXFSZ);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 5);
    close(fd);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(in_jail(write_to, ends[1]), 0); /* the report goes out by a pipe */
    assert_int_equal(read(ends[0], text, sizeof text), 4);
    close(ends[0]);
    close(ends[1]);
}

/* In a child: the limits stay. */
static int limits(const struct rlimit *cpu_before) {
    struct rlimit cpu, memory, core, file, set = *cpu_before;
    if (setrlimit(RLIMIT_CPU, &set) != 0 || !jail_limit(JAIL_READS_OPEN) ||
        getrlimit(RLIMIT_CPU, &cpu) != 0 || getrlimit(RLIMIT_AS, &memory) != 0 ||
        getrlimit(RLIMIT_CORE, &core) != 0 || getrlimit(RLIMIT_FSIZE, &file) != 0) {
        return 1;
    }
    rlim_t most = cpu_before->rlim_max < 20 ? cpu_before->rlim_max : 20;
    bool has = cpu.rlim_max == most && cpu.rlim_cur == most && core.rlim_max == 0 && file.rlim_max == 0;
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    has = has && memory.rlim_max <= (rlim_t)2 << 30; /* the unit's MemoryMax */
#endif
    char score[8] = "";
    int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    has = has && read(fd, score, sizeof score - 1) > 0 && strcmp(score, "1000\n") == 0;
    return has ? 0 : 2;
}

static int status_of_limits(const struct rlimit *cpu_before) {
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(limits(cpu_before));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void limits_are_lowered_and_never_raised(void **state) {
    (void)state;
    struct rlimit cpu;
    assert_int_equal(getrlimit(RLIMIT_CPU, &cpu), 0);
    assert_int_equal(status_of_limits(&cpu), 0);
    cpu.rlim_cur = cpu.rlim_max = 7;
    assert_int_equal(status_of_limits(&cpu), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens_connects_and_starts_nothing),
        cmocka_unit_test(it_reads_maps_and_allocates),
        cmocka_unit_test(a_file_that_is_open_does_not_grow),
        cmocka_unit_test(limits_are_lowered_and_never_raised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
