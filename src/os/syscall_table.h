/* SPDX-License-Identifier: MIT
 *
 * The system calls of this machine's architecture. The table has each call's name, and the kind of object
 * for which a thread is blocked in the call. Pure functions of a call's number; any thread, no allocation.
 */
#ifndef HD_SYSCALL_TABLE_H
#define HD_SYSCALL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* The kind of object or event for which a thread is blocked in a system call. */
enum hd_wait {
    HD_WAIT_OTHER,
    HD_WAIT_DESCRIPTOR, /* argument 1 of the call: a descriptor of a file, a socket or a pipe */
    HD_WAIT_FILE,
    HD_WAIT_SOCKET, /* argument 1 of the call: a descriptor of a socket */
    HD_WAIT_ANY,    /* any of several descriptors: poll, select, epoll */
    HD_WAIT_TIME,
    HD_WAIT_SIGNAL,
    HD_WAIT_CHILD,
    HD_WAIT_LOCK,
    HD_WAIT_MEMORY,
};
enum hd_wait hd_syscall_wait(int32_t nr);

/* The argument of a system call that names the file for which a thread is blocked in the call. */
enum hd_object {
    HD_OBJECT_DESCRIPTOR, /* argument 1 of the call, a descriptor */
    HD_OBJECT_FIRST_PATH,
    HD_OBJECT_SECOND_PATH,
    /* No argument of the call names the file. Or an argument did, but the call has closed that descriptor
     * before the thread blocks. */
    HD_OBJECT_NONE,
};
enum hd_object hd_syscall_object(int32_t nr);

/* True: the call copies bytes between a descriptor and the program's memory. The answer is valid only for
 * calls of the kinds HD_WAIT_DESCRIPTOR and HD_WAIT_SOCKET. */
bool hd_syscall_copies(int32_t nr);

/* True: the call is restart_syscall. The kernel makes this call after a stop (SIGSTOP) has interrupted a
 * blocked call that has a time-out. */
bool hd_syscall_is_restart(int32_t nr);

/* Returns the name of a system call. NULL: the call is not in the table. */
const char *hd_syscall_name(int32_t nr);

#endif
