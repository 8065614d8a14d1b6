/* SPDX-License-Identifier: MIT
 *
 * The kind of a descriptor, by its link in /proc: the descriptor itself is not touched. Worker; no
 * allocation.
 */
#ifndef HD_DESCRIPTOR_H
#define HD_DESCRIPTOR_H

#include "cause/evidence.h"

#define PIPE_LINK "pipe:["

/* The kind of descriptor `fd` in the table of thread `tid`. Writes the base name of a file to out->name, and
 * the inode of a socket or an unnamed pipe to out->descriptor.inode. `proc_fd`: the process's folder in
 * /proc. */
enum hd_fd_kind hd_descriptor_kind(int proc_fd, int tid, int fd, struct hd_evidence *out);

/* As hd_descriptor_kind; fills also the kinds in *out. */
void hd_descriptor_find(int proc_fd, int tid, int fd, struct hd_evidence *out);

/* The kind of a thread's wait channel, which is the function of the kernel that the thread sleeps in.
 * HD_FD_PIPE: a pipe's other end or its lock. HD_FD_FILE: the server of a file. HD_FD_INET: a socket.
 * HD_FD_NONE: another one, or the kernel does not name it to us. */
enum hd_fd_kind hd_descriptor_wchan_kind(int proc_fd, int tid);

/* Fills out->evidence with the descriptor that a call with one or two of them waits for. */
void hd_descriptor_of_call(int proc_fd, int tid, const struct hd_capture *c, struct hd_probe *out);

/* The kind of a device by its path; HD_FD_NONE: no device has that path. */
enum hd_fd_kind hd_descriptor_device_kind(const char *path);

#endif
