/* SPDX-License-Identifier: MIT
 *
 * This machine's system calls: their names, and what a thread that is blocked in one waits for. Pure.
 */
#ifndef HD_SYSCALL_TABLE_H
#define HD_SYSCALL_TABLE_H

#include <stdint.h>

/* What a thread that is blocked in a system call waits for. */
enum hd_wait {
    HD_WAIT_OTHER,
    HD_WAIT_DESCRIPTOR, /* the first argument; what it is decides */
    HD_WAIT_FILE,
    HD_WAIT_SOCKET, /* the first argument */
    HD_WAIT_ANY,    /* any of several descriptors: poll, select, epoll */
    HD_WAIT_TIME,
    HD_WAIT_SIGNAL,
    HD_WAIT_CHILD,
    HD_WAIT_LOCK,
    HD_WAIT_MEMORY,
};
enum hd_wait hd_syscall_wait(int32_t nr);

/* Where a call that waits for a file names it. */
enum hd_object {
    HD_OBJECT_DESCRIPTOR /* the first argument */,
    HD_OBJECT_FIRST_PATH,
    HD_OBJECT_SECOND_PATH,
    HD_OBJECT_NONE /* nor does one that waits for a descriptor, where it is closed: it is gone by then */
};
enum hd_object hd_syscall_object(int32_t nr);

/* Name of a system call of this machine, NULL when not in the table. */
const char *hd_syscall_name(int32_t nr);

#endif
