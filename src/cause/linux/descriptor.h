/* SPDX-License-Identifier: MIT
 *
 * Worker: what a descriptor is, without touching it, and what a call with one waits for. No allocation.
 */
#ifndef HD_DESCRIPTOR_H
#define HD_DESCRIPTOR_H

#include "cause/evidence.h"

#define PIPE_LINK "pipe:["

/* Of number fd in the table of thread tid. Writes the base name of a file to out->name, the inode of a socket
 * or of a pipe without a name to out->inode. `proc_fd`: /proc/self. */
enum hd_fd_kind hd_descriptor_kind(int proc_fd, int tid, int fd, struct hd_evidence *out);

/* The same; fills all of *out. */
void hd_descriptor_find(int proc_fd, int tid, int fd, struct hd_evidence *out);

/* What a thread waits for as the kernel calls the place: a pipe's other end or its lock (HD_FD_PIPE), the
 * server that has a file (HD_FD_FILE), a socket (HD_FD_INET). HD_FD_NONE: something else, or the place is not
 * told ("0"): the kernel has no names, or there is no right to them. */
enum hd_fd_kind hd_descriptor_wchan_kind(int proc_fd, int tid);

/* The descriptor that a call with one or two of them waits for; fills out->evidence. */
void hd_descriptor_of_call(int proc_fd, int tid, const struct hd_capture *c, struct hd_probe *out);

/* By its path alone; HD_FD_NONE: it is not one. */
enum hd_fd_kind hd_descriptor_device_kind(const char *path);

#endif
