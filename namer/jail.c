/* SPDX-License-Identifier: MIT */
#include "namer/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPU_SECONDS 20
#define ADDRESS_BYTES ((rlim_t)2 << 30) /* the service's MemoryMax */

#if defined __x86_64__
#define THIS_ARCH AUDIT_ARCH_X86_64
#else
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

static bool limit(__rlimit_resource_t what, rlim_t most) {
    struct rlimit l;
    if (getrlimit(what, &l) != 0) {
        return false;
    }
    l.rlim_cur = l.rlim_max < most ? l.rlim_max : most;
    l.rlim_max = l.rlim_cur;
    return setrlimit(what, &l) == 0;
}

/* Where memory is short, the kernel ends this process first. */
static void be_dispensable(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)(write(fd, "1000", 4) == 4);
        close(fd);
    }
}

bool jail_limit(enum jail jail) {
    be_dispensable();
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* a sanitizer maps terabytes */
    if (!limit(RLIMIT_AS, ADDRESS_BYTES)) {
        return false;
    }
#endif
    return (jail == JAIL_READS || limit(RLIMIT_CPU, CPU_SECONDS)) && limit(RLIMIT_FSIZE, 0) &&
           limit(RLIMIT_CORE, 0);
}

#define ALLOW(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* abort() and raise() signal the own process; no other. The upper half of a number of 32 bits is not looked
 * at. */
#define ALLOW_FOR_SELF(call)                                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 3),                                            \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),                    \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* libc's fstat is this call with no path. The filter cannot read a path, but it refuses the usual stat(). */
#define ALLOW_FSTAT                                                                 \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_newfstatat, 0, 3),                     \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AT_EMPTY_PATH, 0, 1),                   \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* The call's flags ask for no more than to read. */
#define ALLOW_OPEN(call, argument)                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##call, 0, 4),                                    \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[argument])),     \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,                                                   \
                 O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY), 1, 0), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),                                          \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

#define FIRST                                                                \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),                \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),                 \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* System calls for memory, threads and open files. A thread that starts under the filter (a
 * sanitizer's) calls rseq, and glibc aborts the process where that fails. */
#define ALLOW_WORK                                                                                           \
    ALLOW(read), ALLOW(write), ALLOW(pread64), ALLOW(lseek), ALLOW(fstat), ALLOW(fcntl), ALLOW(dup),         \
        ALLOW(close), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise),            \
        ALLOW(brk), ALLOW(futex), ALLOW(getpid), ALLOW(gettid), ALLOW_FOR_SELF(tgkill), ALLOW(rt_sigaction), \
        ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack), ALLOW(sched_yield),                  \
        ALLOW(getrandom), ALLOW(rseq), ALLOW(set_robust_list), ALLOW(exit), ALLOW(exit_group)

#define DENY BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static bool enter(const struct sock_filter *filter, size_t count) {
    const struct sock_fprog program = {.len = (unsigned short)count, .filter = (struct sock_filter *)filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

bool jail_enter(enum jail jail) {
    const unsigned self = (unsigned)getpid();
    const struct sock_filter open_files[] = {FIRST, ALLOW_WORK, ALLOW_FSTAT, DENY};
    const struct sock_filter files[] = {FIRST,
                                        ALLOW_WORK,
                                        ALLOW_OPEN(openat, 2),
                                        ALLOW(newfstatat),
                                        ALLOW(readlinkat),
                                        ALLOW(faccessat),
                                        ALLOW(recvmsg),
                                        ALLOW(recvfrom),
#ifdef __x86_64__
                                        ALLOW_OPEN(open, 1),
                                        ALLOW(stat),
                                        ALLOW(lstat),
                                        ALLOW(readlink),
                                        ALLOW(access),
#endif
                                        DENY};
    return jail == JAIL_READS ? enter(files, sizeof files / sizeof files[0])
                              : enter(open_files, sizeof open_files / sizeof open_files[0]);
}
