/* SPDX-License-Identifier: MIT
 *
 * A call that can be a cancellation point has a second number, for callers that must not be cancelled. The
 * table has all calls in which a thread waits for a file, a peer, a lock or a time, and their second numbers.
 */
#include "os/syscall_table.h"

#include <stddef.h>
#include <string.h>

#include "base/types.h"
#include "os/darwin/syscall_number.h"

#define NAME_BYTES 28

#define CALL(wait, nr, nocancel, name) \
    { nr, nocancel, HD_WAIT_##wait, HD_OBJECT_DESCRIPTOR, #name }
#define OBJECT(object, nr, nocancel, name) \
    { nr, nocancel, HD_WAIT_FILE, HD_OBJECT_##object, #name }
#define CLOSED(nr, nocancel, name) \
    { nr, nocancel, HD_WAIT_DESCRIPTOR, HD_OBJECT_NONE, #name }
/* A name that no public header has. App Review refuses a program that has such a name. In the table, a dash
 * stands for an underscore or for nothing. Reports have the dash too. */
#define PRIVATE(wait, object, nr, text) \
    { nr, 0, HD_WAIT_##wait, HD_OBJECT_##object, text }

static const struct {
    int16_t nr, nocancel; /* nocancel: the second number; 0: none */
    uint8_t wait;         /* enum hd_wait */
    uint8_t object;       /* enum hd_object */
    char name[NAME_BYTES];
} calls[] = {
    /* calls that block at a descriptor, which may be one of a file, a socket or a pipe */
    CALL(DESCRIPTOR, 3, 396, read),
    CALL(DESCRIPTOR, 4, 397, write),
    CALL(DESCRIPTOR, 120, 411, readv),
    CALL(DESCRIPTOR, 121, 412, writev),
    CALL(DESCRIPTOR, 153, 414, pread),
    CALL(DESCRIPTOR, 154, 415, pwrite),
    CALL(DESCRIPTOR, 540, 542, preadv),
    CALL(DESCRIPTOR, 541, 543, pwritev),
    CALL(DESCRIPTOR, 337, 0, sendfile),
    PRIVATE(DESCRIPTOR, DESCRIPTOR, 485, "guarded-write_np"),
    PRIVATE(DESCRIPTOR, DESCRIPTOR, 486, "guarded-pwrite_np"),
    PRIVATE(DESCRIPTOR, DESCRIPTOR, 487, "guarded-writev_np"),
    CALL(DESCRIPTOR, 54, 0, ioctl),

    /* calls that close a descriptor: the kernel frees its number first, and may block after that */
    CLOSED(6, 399, close),
    PRIVATE(DESCRIPTOR, NONE, 442, "guarded-close_np"),
    CLOSED(90, 0, dup2),

    /* calls that work on files and file systems */
    OBJECT(FIRST_PATH, 5, 398, open),
    OBJECT(SECOND_PATH, 463, 464, openat),
    OBJECT(FIRST_PATH, 216, 0, open_dprotected_np),
    OBJECT(FIRST_PATH, 277, 0, open_extended),
    PRIVATE(FILE, FIRST_PATH, 441, "guarded-open_np"),
    CALL(FILE, 95, 408, fsync),
    PRIVATE(FILE, DESCRIPTOR, 187, "fdata-sync"),
    OBJECT(NONE, 36, 0, sync),
    OBJECT(NONE, 65, 405, msync),
    OBJECT(FIRST_PATH, 188, 0, stat),
    OBJECT(FIRST_PATH, 190, 0, lstat),
    CALL(FILE, 189, 0, fstat),
    OBJECT(FIRST_PATH, 338, 0, stat64),
    OBJECT(FIRST_PATH, 340, 0, lstat64),
    CALL(FILE, 339, 0, fstat64),
    OBJECT(SECOND_PATH, 469, 0, fstatat),
    PRIVATE(FILE, SECOND_PATH, 470, "fstatat-64"),
    OBJECT(FIRST_PATH, 279, 0, stat_extended),
    OBJECT(FIRST_PATH, 157, 0, statfs),
    CALL(FILE, 158, 0, fstatfs),
    OBJECT(FIRST_PATH, 345, 0, statfs64),
    CALL(FILE, 346, 0, fstatfs64),
    OBJECT(NONE, 18, 0, getfsstat),
    OBJECT(NONE, 347, 0, getfsstat64),
    CALL(FILE, 196, 0, getdirentries),
    PRIVATE(FILE, DESCRIPTOR, 344, "getdirentries-64"),
    CALL(FILE, 461, 0, getattrlistbulk),
    OBJECT(FIRST_PATH, 220, 0, getattrlist),
    OBJECT(FIRST_PATH, 221, 0, setattrlist),
    CALL(FILE, 228, 0, fgetattrlist),
    CALL(FILE, 229, 0, fsetattrlist),
    OBJECT(SECOND_PATH, 476, 0, getattrlistat),
    OBJECT(SECOND_PATH, 524, 0, setattrlistat),
    OBJECT(FIRST_PATH, 225, 0, searchfs),
    CALL(FILE, 199, 0, lseek),
    OBJECT(FIRST_PATH, 200, 0, truncate),
    CALL(FILE, 201, 0, ftruncate),
    OBJECT(FIRST_PATH, 128, 0, rename),
    OBJECT(SECOND_PATH, 465, 0, renameat),
    OBJECT(SECOND_PATH, 488, 0, renameatx_np),
    OBJECT(FIRST_PATH, 223, 0, exchangedata),
    OBJECT(FIRST_PATH, 10, 0, unlink),
    OBJECT(SECOND_PATH, 472, 0, unlinkat),
    OBJECT(FIRST_PATH, 137, 0, rmdir),
    OBJECT(FIRST_PATH, 136, 0, mkdir),
    OBJECT(SECOND_PATH, 475, 0, mkdirat),
    OBJECT(FIRST_PATH, 9, 0, link),
    OBJECT(SECOND_PATH, 471, 0, linkat),
    OBJECT(SECOND_PATH, 57, 0, symlink),
    OBJECT(FIRST_PATH, 58, 0, readlink),
    OBJECT(SECOND_PATH, 473, 0, readlinkat),
    OBJECT(SECOND_PATH, 462, 0, clonefileat),
    OBJECT(NONE, 517, 0, fclonefileat),
    OBJECT(FIRST_PATH, 227, 0, copyfile),
    OBJECT(FIRST_PATH, 33, 0, access),
    OBJECT(SECOND_PATH, 466, 0, faccessat),
    OBJECT(FIRST_PATH, 15, 0, chmod),
    CALL(FILE, 124, 0, fchmod),
    OBJECT(SECOND_PATH, 467, 0, fchmodat),
    OBJECT(FIRST_PATH, 16, 0, chown),
    OBJECT(FIRST_PATH, 364, 0, lchown),
    CALL(FILE, 123, 0, fchown),
    OBJECT(SECOND_PATH, 468, 0, fchownat),
    OBJECT(FIRST_PATH, 34, 0, chflags),
    CALL(FILE, 35, 0, fchflags),
    OBJECT(FIRST_PATH, 138, 0, utimes),
    CALL(FILE, 139, 0, futimes),
    OBJECT(FIRST_PATH, 191, 0, pathconf),
    CALL(FILE, 192, 0, fpathconf),
    OBJECT(FIRST_PATH, 234, 0, getxattr),
    CALL(FILE, 235, 0, fgetxattr),
    OBJECT(FIRST_PATH, 236, 0, setxattr),
    CALL(FILE, 237, 0, fsetxattr),
    OBJECT(FIRST_PATH, 238, 0, removexattr),
    CALL(FILE, 239, 0, fremovexattr),
    OBJECT(FIRST_PATH, 240, 0, listxattr),
    CALL(FILE, 241, 0, flistxattr),
    OBJECT(FIRST_PATH, 242, 0, fsctl),
    CALL(FILE, 245, 0, ffsctl),
    OBJECT(NONE, 427, 0, fsgetpath),
    OBJECT(FIRST_PATH, 12, 0, chdir),
    CALL(FILE, 13, 0, fchdir),
    OBJECT(SECOND_PATH, 167, 0, mount),
    OBJECT(FIRST_PATH, 159, 0, unmount),
    OBJECT(FIRST_PATH, 59, 0, execve),
    OBJECT(SECOND_PATH, 244, 0, posix_spawn),
    OBJECT(NONE, 104, 0, bind), /* bind may block while the kernel looks up the path of a local socket */
    OBJECT(NONE, 313, 0, aio_fsync),
    OBJECT(NONE, 315, 421, aio_suspend),
    OBJECT(NONE, 320, 0, lio_listio),

    /* sockets */
    CALL(SOCKET, 98, 409, connect),
    CALL(SOCKET, 447, 0, connectx),
    CALL(SOCKET, 30, 404, accept),
    CALL(SOCKET, 29, 403, recvfrom),
    CALL(SOCKET, 27, 401, recvmsg),
    PRIVATE(SOCKET, DESCRIPTOR, 480, "recvmsg-x"),
    CALL(SOCKET, 133, 413, sendto),
    CALL(SOCKET, 28, 402, sendmsg),
    PRIVATE(SOCKET, DESCRIPTOR, 481, "sendmsg-x"),
    CALL(SOCKET, 134, 0, shutdown),

    /* calls that block until any of several descriptors or ports is ready */
    CALL(ANY, 93, 407, select),
    CALL(ANY, 394, 395, pselect),
    CALL(ANY, 230, 417, poll),
    CALL(ANY, 363, 0, kevent),
    CALL(ANY, 369, 0, kevent64),
    CALL(ANY, 374, 0, kevent_qos),
    CALL(ANY, HD_DARWIN_MACH_MSG, 0, mach_msg),
    CALL(ANY, HD_DARWIN_MACH_MSG_OVERWRITE, 0, mach_msg_overwrite),
    CALL(ANY, HD_DARWIN_MACH_MSG2, 0, mach_msg2),

    /* calls that block until a time, until a signal, or until a child changes its state */
    CALL(TIME, 334, 423, semwait_signal), /* nanosleep */
    CALL(TIME, -90, 0, mach_wait_until),
    CALL(TIME, -62, 0, clock_sleep),
    CALL(SIGNAL, 111, 410, sigsuspend),
    CALL(SIGNAL, 330, 422, sigwait),
    CALL(CHILD, HD_DARWIN_WAIT4, HD_DARWIN_WAIT4_NOCANCEL, wait4),
    CALL(CHILD, HD_DARWIN_WAITID, HD_DARWIN_WAITID_NOCANCEL, waitid),
    CALL(CHILD, 66, 0, vfork),

    /* locks */
    CALL(LOCK, HD_DARWIN_PSYNCH_MUTEXWAIT, 0, psynch_mutexwait),
    CALL(LOCK, HD_DARWIN_PSYNCH_CVWAIT, 0, psynch_cvwait),
    CALL(LOCK, HD_DARWIN_PSYNCH_RW_RDLOCK, 0, psynch_rw_rdlock),
    CALL(LOCK, HD_DARWIN_PSYNCH_RW_WRLOCK, 0, psynch_rw_wrlock),
    CALL(LOCK, HD_DARWIN_ULOCK_WAIT, 0, ulock_wait),
    CALL(LOCK, HD_DARWIN_ULOCK_WAIT2, 0, ulock_wait2),
    PRIVATE(LOCK, DESCRIPTOR, HD_DARWIN_KEVENT_ID,
            "kevent-id"), /* libdispatch: a queue that another thread serves */
    CALL(LOCK, HD_DARWIN_SEMAPHORE_WAIT, 0, semaphore_wait),
    CALL(LOCK, HD_DARWIN_SEMAPHORE_WAIT_SIGNAL, 0, semaphore_wait_signal),
    CALL(LOCK, HD_DARWIN_SEMAPHORE_TIMEDWAIT, 0, semaphore_timedwait),
    CALL(LOCK, HD_DARWIN_SEMAPHORE_TIMEDWAIT_SIGNAL, 0, semaphore_timedwait_signal),
    CALL(LOCK, HD_DARWIN_SEM_WAIT, HD_DARWIN_SEM_WAIT_NOCANCEL, sem_wait),
    CALL(LOCK, HD_DARWIN_FLOCK, 0, flock),
    CALL(LOCK, HD_DARWIN_FCNTL, HD_DARWIN_FCNTL_NOCANCEL, fcntl),
    CALL(FILE, HD_DARWIN_FCNTL_DISK, 0, fcntl),
    CALL(LOCK, 256, 0, semop),

    /* memory */
    CALL(MEMORY, 197, 0, mmap),
    CALL(MEMORY, 73, 0, munmap),
    CALL(MEMORY, 74, 0, mprotect),
    CALL(MEMORY, 75, 0, madvise),
    CALL(MEMORY, 203, 0, mlock),
    CALL(MEMORY, 324, 0, mlockall),
    CALL(MEMORY, 2, 0, fork),
    CALL(MEMORY, -10, 0, mach_vm_allocate),
    CALL(MEMORY, -12, 0, mach_vm_deallocate),
    CALL(MEMORY, -14, 0, mach_vm_protect),
    CALL(MEMORY, -15, 0, mach_vm_map),

    /* calls of the kind HD_WAIT_OTHER, like all calls outside of the table: they are here only for their
     * names */
    CALL(OTHER, 1, 0, exit),
    CALL(OTHER, 336, 0, proc_info),
    CALL(OTHER, 361, 0, bsdthread_terminate),
    CALL(OTHER, 368, 0, workq_kernreturn),
    CALL(OTHER, 260, 418, msgsnd),
    CALL(OTHER, 261, 419, msgrcv),
    CALL(OTHER, 202, 0, sysctl),
    CALL(OTHER, -59, 0, swtch_pri),
    CALL(OTHER, -60, 0, swtch),
    CALL(OTHER, -61, 0, thread_switch),
    CALL(OTHER, -100, 0, iokit_user_client),
};

#define CALLS ((uint32_t)(sizeof calls / sizeof calls[0]))

/* Returns the call's place in the table; CALLS: none. */
static uint32_t find(int32_t nr) {
    uint32_t i = 0;
    while (i < CALLS && calls[i].nr != nr && (calls[i].nocancel == 0 || calls[i].nocancel != nr)) {
        i++;
    }
    return i;
}

int32_t hd_syscall_cancellable(int32_t nr) {
    uint32_t i = find(nr);
    return i < CALLS ? calls[i].nr : nr;
}

const char *hd_syscall_name(int32_t nr) {
    uint32_t i = find(nr);
    return i < CALLS ? calls[i].name : NULL;
}

enum hd_object hd_syscall_object(int32_t nr) {
    uint32_t i = find(nr);
    return i < CALLS ? (enum hd_object)calls[i].object : HD_OBJECT_NONE;
}

enum hd_wait hd_syscall_wait(int32_t nr) {
    uint32_t i = find(nr);
    return i < CALLS ? (enum hd_wait)calls[i].wait : HD_WAIT_OTHER;
}

bool hd_syscall_copies(int32_t nr) {
    enum {
        IOCTL = 54,
        CONNECT = 98
    };
    int32_t call = hd_syscall_cancellable(nr);
    return call != IOCTL && call != CONNECT && hd_syscall_object(nr) != HD_OBJECT_NONE;
}

bool hd_syscall_is_restart(int32_t nr) {
    (void)nr; /* a call that a stop interrupts keeps its number */
    return false;
}

/* ---- names of stubs ----------------------------------------------------------------------------- */

/* Returns what follows `name` of the table in `text`. NULL: the text starts with another name. */
static const char *after_name(const char *text, const char *name) {
    for (; *name != '\0'; name++) {
        if (*name == '-') {
            text += *text == '_';
        } else if (*text++ != *name) {
            return NULL;
        }
    }
    return text;
}

/* True: `text` is `name`, followed by one of the endings that libsystem_kernel gives to a call's stubs. A
 * stub of macOS may have a variant such as $INODE64 or $NOCANCEL. */
static bool is_stub_of(const char *text, const char *name, bool *nocancel) {
    const char *end = after_name(text, name);
    if (end == NULL) {
        return false;
    }
    *nocancel = strcmp(end, "_nocancel") == 0 || strncmp(end, "$NOCANCEL", 9) == 0;
    return *nocancel || *end == '\0' || *end == '$' || strcmp(end, "_trap") == 0;
}

int32_t hd_syscall_of_stub(const char *stub) {
    for (; *stub == '_'; stub++) {
    }
    if (strncmp(stub, "kernelrpc_", 10) == 0) { /* the traps for memory have this before their names */
        stub += 10;
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        bool nocancel;
        if (is_stub_of(stub, calls[i].name, &nocancel)) {
            return nocancel && calls[i].nocancel != 0 ? calls[i].nocancel : calls[i].nr;
        }
    }
    return HD_SYSCALL_NONE;
}
