/* SPDX-License-Identifier: MIT
 *
 * Finds the kind of a descriptor by its link in /proc, without a system call on the descriptor itself. Runs
 * on the worker thread; allocates nothing.
 */
#ifndef HD_DESCRIPTOR_H
#define HD_DESCRIPTOR_H

#include "cause/evidence.h"

#define PIPE_LINK "pipe:["

/* Returns the kind of descriptor `fd` in the descriptor table of thread `tid`; HD_FD_NONE: there is no
 * such descriptor. Writes the base name of a file to out->name, and the inode of a socket or an unnamed
 * pipe to out->descriptor.inode. `proc_fd`: the process's folder in /proc. */
enum hd_fd_kind hd_descriptor_kind(int proc_fd, int tid, int fd, struct hd_evidence *out);

/* Like hd_descriptor_kind, but stores the kind in *out as evidence of a descriptor. */
void hd_descriptor_find(int proc_fd, int tid, int fd, struct hd_evidence *out);

/* Returns the kind of object that thread `tid` is blocked on. The thread's wait channel shows the kind: the
 * name of the kernel function in which the thread sleeps. HD_FD_PIPE: a pipe's other end or its lock.
 * HD_FD_FILE: a file's server (FUSE). HD_FD_INET: a socket. HD_FD_NONE: another object, or the kernel hides
 * the name. */
enum hd_fd_kind hd_descriptor_wchan_kind(int proc_fd, int tid);

/* Fills out->evidence for a call that works on one or two descriptors, with the descriptor that the thread is
 * blocked on. Sets out->state to HD_RUN_BLOCKED if the thread waits for a pipe's lock; a comment in
 * descriptor.c says why. */
void hd_descriptor_of_call(int proc_fd, int tid, const struct hd_capture *c, struct hd_probe *out);

/* Returns the kind of a device by its path; HD_FD_NONE: the path is not in /dev. */
enum hd_fd_kind hd_descriptor_device_kind(const char *path);

#endif
