/* SPDX-License-Identifier: MIT
 *
 * This machine's system calls: their names, and what a thread that is blocked in one waits for. Pure
 * functions of a call's number; any thread, no allocation.
 */
#ifndef HD_SYSCALL_TABLE_H
#define HD_SYSCALL_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* The kind of object or event that a thread waits for while blocked in a system call. */
enum hd_wait {
    HD_WAIT_OTHER,
    HD_WAIT_DESCRIPTOR, /* argument 1: a file, a socket or a pipe; the descriptor's type decides */
    HD_WAIT_FILE,
    HD_WAIT_SOCKET, /* argument 1 */
    HD_WAIT_ANY,    /* any of several descriptors: poll, select, epoll */
    HD_WAIT_TIME,
    HD_WAIT_SIGNAL,
    HD_WAIT_CHILD,
    HD_WAIT_LOCK,
    HD_WAIT_MEMORY,
};
enum hd_wait hd_syscall_wait(int32_t nr);

/* The argument that names the file for which a system call waits. */
enum hd_object {
    HD_OBJECT_DESCRIPTOR, /* argument 1 */
    HD_OBJECT_FIRST_PATH,
    HD_OBJECT_SECOND_PATH,
    HD_OBJECT_NONE, /* no argument; also a call that closes a descriptor, whose number is free by then */
};
enum hd_object hd_syscall_object(int32_t nr);

/* The call copies memory between the program and the descriptor in its arguments. */
bool hd_syscall_copies(int32_t nr);

/* The call that the kernel makes where a stop broke a wait with a time-out. */
bool hd_syscall_is_restart(int32_t nr);

/* Name of a system call. NULL: not in the table. */
const char *hd_syscall_name(int32_t nr);

#endif
