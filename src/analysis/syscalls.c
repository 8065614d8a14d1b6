/* SPDX-License-Identifier: MIT
 *
 * Names of this machine's system calls, and what a thread that is blocked in one waits for. A table; calls
 * that never wait for anything but a lock of the kernel are left out. Worker code: may run while a hang is
 * on; no allocation.
 */
#include "analysis/cause.h"

#include <sys/syscall.h>

#define CALL(wait, name) \
    { SYS_##name, HD_WAIT_##wait, #name }

static const struct {
    int16_t nr;
    uint8_t wait;  /* enum hd_wait */
    char name[17]; /* here, not elsewhere: no pointers for the loader to mend in every process */
} calls[] = {
    /* a descriptor: file, socket, pipe … decides */
    CALL(DESCRIPTOR, read),
    CALL(DESCRIPTOR, write),
    CALL(DESCRIPTOR, readv),
    CALL(DESCRIPTOR, writev),
    CALL(DESCRIPTOR, pread64),
    CALL(DESCRIPTOR, pwrite64),
    CALL(DESCRIPTOR, preadv),
    CALL(DESCRIPTOR, pwritev),
    CALL(DESCRIPTOR, preadv2),
    CALL(DESCRIPTOR, pwritev2),
    CALL(DESCRIPTOR, sendfile),
    CALL(DESCRIPTOR, splice),
    CALL(DESCRIPTOR, tee),
    CALL(DESCRIPTOR, vmsplice),
    CALL(DESCRIPTOR, copy_file_range),
    CALL(DESCRIPTOR, ioctl),
    CALL(DESCRIPTOR, close),

    /* files and file systems */
    CALL(FILE, openat),
    CALL(FILE, openat2),
    CALL(FILE, fsync),
    CALL(FILE, fdatasync),
    CALL(FILE, sync),
    CALL(FILE, syncfs),
    CALL(FILE, sync_file_range),
    CALL(FILE, msync),
    CALL(FILE, fstat),
    CALL(FILE, newfstatat),
    CALL(FILE, statx),
    CALL(FILE, statfs),
    CALL(FILE, fstatfs),
    CALL(FILE, getdents64),
    CALL(FILE, lseek),
    CALL(FILE, truncate),
    CALL(FILE, ftruncate),
    CALL(FILE, fallocate),
    CALL(FILE, fadvise64),
    CALL(FILE, readahead),
    CALL(FILE, renameat),
    CALL(FILE, renameat2),
    CALL(FILE, unlinkat),
    CALL(FILE, mkdirat),
    CALL(FILE, linkat),
    CALL(FILE, symlinkat),
    CALL(FILE, readlinkat),
    CALL(FILE, faccessat),
    CALL(FILE, faccessat2),
    CALL(FILE, fchmod),
    CALL(FILE, fchmodat),
    CALL(FILE, fchown),
    CALL(FILE, fchownat),
    CALL(FILE, utimensat),
    CALL(FILE, getxattr),
    CALL(FILE, lgetxattr),
    CALL(FILE, fgetxattr),
    CALL(FILE, setxattr),
    CALL(FILE, listxattr),
    CALL(FILE, chdir),
    CALL(FILE, mount),
    CALL(FILE, umount2),
    CALL(FILE, execve),
    CALL(FILE, execveat),
    CALL(FILE, io_getevents),
    CALL(FILE, io_submit),

    /* sockets */
    CALL(SOCKET, connect),
    CALL(SOCKET, accept),
    CALL(SOCKET, accept4),
    CALL(SOCKET, recvfrom),
    CALL(SOCKET, recvmsg),
    CALL(SOCKET, recvmmsg),
    CALL(SOCKET, sendto),
    CALL(SOCKET, sendmsg),
    CALL(SOCKET, sendmmsg),
    CALL(SOCKET, shutdown),

    /* any of several descriptors */
    CALL(ANY, ppoll),
    CALL(ANY, pselect6),
    CALL(ANY, epoll_pwait),
    CALL(ANY, epoll_pwait2),

    /* time, signals, other processes */
    CALL(TIME, nanosleep),
    CALL(TIME, clock_nanosleep),
    CALL(SIGNAL, rt_sigsuspend),
    CALL(SIGNAL, rt_sigtimedwait),
    CALL(CHILD, wait4),
    CALL(CHILD, waitid),
    CALL(CHILD, clone),
    CALL(CHILD, clone3),

    /* locks */
    CALL(LOCK, futex),
    CALL(LOCK, futex_waitv),
    CALL(LOCK, flock),
    CALL(LOCK, fcntl),
    CALL(LOCK, semop),
    CALL(LOCK, semtimedop),

    /* memory */
    CALL(MEMORY, mmap),
    CALL(MEMORY, munmap),
    CALL(MEMORY, mremap),
    CALL(MEMORY, mprotect),
    CALL(MEMORY, madvise),
    CALL(MEMORY, mlock),
    CALL(MEMORY, brk),

    /* named, and no more than that */
    CALL(OTHER, exit),
    CALL(OTHER, exit_group),
    CALL(OTHER, getrandom),
    CALL(OTHER, io_uring_enter),
    CALL(OTHER, membarrier),
    CALL(OTHER, mq_timedreceive),
    CALL(OTHER, mq_timedsend),
    CALL(OTHER, msgrcv),
    CALL(OTHER, msgsnd),
    CALL(OTHER, ptrace),
    CALL(OTHER, process_vm_readv),
    CALL(OTHER, restart_syscall),
    CALL(OTHER, sched_yield),
    CALL(OTHER, finit_module),
    CALL(OTHER, init_module),
    CALL(OTHER, userfaultfd),

#ifdef __x86_64__ /* older forms, which newer machines do not have */
    CALL(FILE, open),
    CALL(FILE, creat),
    CALL(FILE, stat),
    CALL(FILE, lstat),
    CALL(FILE, access),
    CALL(FILE, rename),
    CALL(FILE, unlink),
    CALL(FILE, rmdir),
    CALL(FILE, mkdir),
    CALL(FILE, link),
    CALL(FILE, symlink),
    CALL(FILE, readlink),
    CALL(FILE, chmod),
    CALL(FILE, chown),
    CALL(FILE, getdents),
    CALL(ANY, poll),
    CALL(ANY, select),
    CALL(ANY, epoll_wait),
    CALL(SIGNAL, pause),
    CALL(CHILD, fork),
    CALL(CHILD, vfork),
#endif
};

#define CALLS ((uint32_t)(sizeof calls / sizeof calls[0]))

const char *hd_syscall_name(int32_t nr) {
    for (uint32_t i = 0; i < CALLS; i++)
        if (calls[i].nr == nr)
            return calls[i].name;
    return NULL;
}

enum hd_wait hd_syscall_wait(int32_t nr) {
    for (uint32_t i = 0; i < CALLS; i++)
        if (calls[i].nr == nr)
            return (enum hd_wait)calls[i].wait;
    return HD_WAIT_OTHER;
}
