/* SPDX-License-Identifier: MIT
 *
 * A thread that blocks in a call outside of the table counts as blocked by a disk only if no signal can
 * end the call. But a signal may be able to end a call that a file's server (FUSE) blocks. So the
 * table has all calls that look up a path or query a file's server. The table lacks calls that usually block
 * only for a lock inside the kernel.
 */
#include "os/syscall_table.h"

#include <stddef.h>

#include <sys/syscall.h>

#define CALL(wait, name) \
    { SYS_##name, HD_WAIT_##wait, HD_OBJECT_DESCRIPTOR, #name }
#define OBJECT(object, name) \
    { SYS_##name, HD_WAIT_FILE, HD_OBJECT_##object, #name }
#define CLOSED(name) \
    { SYS_##name, HD_WAIT_DESCRIPTOR, HD_OBJECT_NONE, #name }

static const struct __attribute__((packed)) {
    int16_t nr;
    uint8_t wait : 5;   /* enum hd_wait */
    uint8_t object : 3; /* enum hd_object: the argument that names a file */
    char name[18];      /* an array, since a pointer would cost the loader a relocation in every process */
} calls[] = {
    /* calls that block at a descriptor, which may be one of a file, a socket or a pipe */
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

    /* calls that close a descriptor: the kernel frees its number first, and may block after that */
    CLOSED(close),
    CLOSED(close_range),
    CLOSED(dup3),

    /* calls that work on files and file systems */
    OBJECT(SECOND_PATH, openat),
    OBJECT(SECOND_PATH, openat2),
    CALL(FILE, fsync),
    CALL(FILE, fdatasync),
    OBJECT(NONE, sync),
    CALL(FILE, syncfs),
    CALL(FILE, sync_file_range),
    OBJECT(NONE, msync),
    CALL(FILE, fstat),
    OBJECT(SECOND_PATH, newfstatat),
    OBJECT(SECOND_PATH, statx),
    OBJECT(FIRST_PATH, statfs),
    CALL(FILE, fstatfs),
    CALL(FILE, getdents64),
    CALL(FILE, lseek),
    OBJECT(FIRST_PATH, truncate),
    CALL(FILE, ftruncate),
    CALL(FILE, fallocate),
    CALL(FILE, fadvise64),
    CALL(FILE, readahead),
    OBJECT(SECOND_PATH, renameat),
    OBJECT(SECOND_PATH, renameat2),
    OBJECT(SECOND_PATH, unlinkat),
    OBJECT(SECOND_PATH, mkdirat),
    OBJECT(SECOND_PATH, linkat),
    OBJECT(NONE, symlinkat),
    OBJECT(SECOND_PATH, readlinkat),
    OBJECT(SECOND_PATH, faccessat),
    OBJECT(SECOND_PATH, faccessat2),
    CALL(FILE, fchmod),
    OBJECT(SECOND_PATH, fchmodat),
    CALL(FILE, fchown),
    OBJECT(SECOND_PATH, fchownat),
    OBJECT(SECOND_PATH, utimensat),
    OBJECT(FIRST_PATH, getxattr),
    OBJECT(FIRST_PATH, lgetxattr),
    CALL(FILE, fgetxattr),
    OBJECT(FIRST_PATH, setxattr),
    OBJECT(FIRST_PATH, listxattr),
    OBJECT(FIRST_PATH, lsetxattr),
    CALL(FILE, fsetxattr),
    OBJECT(FIRST_PATH, llistxattr),
    CALL(FILE, flistxattr),
    OBJECT(FIRST_PATH, removexattr),
    OBJECT(FIRST_PATH, lremovexattr),
    CALL(FILE, fremovexattr),
    OBJECT(SECOND_PATH, mknodat),
    OBJECT(SECOND_PATH, name_to_handle_at),
    OBJECT(NONE, open_by_handle_at),
    OBJECT(SECOND_PATH, inotify_add_watch),
    OBJECT(NONE, fanotify_mark),
    OBJECT(FIRST_PATH, chdir),
    CALL(FILE, fchdir),
    OBJECT(FIRST_PATH, chroot),
    OBJECT(SECOND_PATH, quotactl),
    OBJECT(SECOND_PATH, mount),
    OBJECT(FIRST_PATH, umount2),
    OBJECT(FIRST_PATH, execve),
    OBJECT(SECOND_PATH, execveat),
    OBJECT(NONE, bind), /* bind may block while the kernel looks up the path of a local socket */
    OBJECT(NONE, io_getevents),
    OBJECT(NONE, io_pgetevents),
    OBJECT(NONE, io_submit),

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

    /* calls that block until any of several descriptors is ready */
    CALL(ANY, ppoll),
    CALL(ANY, pselect6),
    CALL(ANY, epoll_pwait),
    CALL(ANY, epoll_pwait2),

    /* calls that block until a time, until a signal, or until a child changes its state */
    CALL(TIME, nanosleep),
    CALL(TIME, clock_nanosleep),
    CALL(SIGNAL, rt_sigsuspend),
    CALL(SIGNAL, rt_sigtimedwait),
    CALL(CHILD, wait4),
    CALL(CHILD, waitid),

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
    CALL(MEMORY, mlock2),
    CALL(MEMORY, mlockall),
    CALL(MEMORY, brk),
    CALL(MEMORY, clone), /* a thread in vfork (CLONE_VFORK) is blocked by the child, not for memory */
    CALL(MEMORY, clone3),

    /* calls of the kind HD_WAIT_OTHER, like all calls outside of the table: they are here only for their
     * names */
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

#ifdef __x86_64__ /* older forms of the calls above, which newer architectures lack */
    OBJECT(FIRST_PATH, open),
    OBJECT(FIRST_PATH, creat),
    OBJECT(FIRST_PATH, stat),
    OBJECT(FIRST_PATH, lstat),
    OBJECT(FIRST_PATH, access),
    OBJECT(FIRST_PATH, rename),
    OBJECT(FIRST_PATH, unlink),
    OBJECT(FIRST_PATH, rmdir),
    OBJECT(FIRST_PATH, mkdir),
    OBJECT(FIRST_PATH, link),
    /* The first argument of symlink is the text of the new link. The kernel does not look this text up as a
     * path. */
    OBJECT(SECOND_PATH, symlink),
    OBJECT(FIRST_PATH, readlink),
    OBJECT(FIRST_PATH, chmod),
    OBJECT(FIRST_PATH, chown),
    OBJECT(FIRST_PATH, lchown),
    OBJECT(FIRST_PATH, mknod),
    OBJECT(FIRST_PATH, utime),
    OBJECT(FIRST_PATH, utimes),
    OBJECT(SECOND_PATH, futimesat),
    CALL(FILE, getdents),
    CLOSED(dup2),
    CALL(ANY, poll),
    CALL(ANY, select),
    CALL(ANY, epoll_wait),
    CALL(SIGNAL, pause),
    CALL(MEMORY, fork),
    CALL(CHILD, vfork),
#endif
};

#define CALLS ((uint32_t)(sizeof calls / sizeof calls[0]))

const char *hd_syscall_name(int32_t nr) {
    for (uint32_t i = 0; i < CALLS; i++) {
        if (calls[i].nr == nr) {
            return calls[i].name;
        }
    }
    return NULL;
}

enum hd_object hd_syscall_object(int32_t nr) {
    for (uint32_t i = 0; i < CALLS; i++) {
        if (calls[i].nr == nr) {
            return (enum hd_object)calls[i].object;
        }
    }
    return HD_OBJECT_NONE;
}

/* Excludes ioctl and connect. If no signal can end a blocked connect, the kernel is looking up the path of a
 * local socket, and copies no bytes. */
bool hd_syscall_copies(int32_t nr) {
    return nr != SYS_ioctl && nr != SYS_connect && hd_syscall_object(nr) != HD_OBJECT_NONE;
}

bool hd_syscall_is_restart(int32_t nr) {
    return nr == SYS_restart_syscall;
}

enum hd_wait hd_syscall_wait(int32_t nr) {
    for (uint32_t i = 0; i < CALLS; i++) {
        if (calls[i].nr == nr) {
            return (enum hd_wait)calls[i].wait;
        }
    }
    return HD_WAIT_OTHER;
}
