/* SPDX-License-Identifier: MIT
 *
 * Worker: what a descriptor is, without touching it. No allocation.
 */
#ifndef HD_DESCRIPTOR_H
#define HD_DESCRIPTOR_H

#include "analysis/cause.h"

/* Of number fd in the table of thread tid. Writes the base name of a file to out->path, the inode of a socket
 * to out->socket. `proc_fd`: /proc/self. */
enum hd_fd_kind hd_fd_kind_of(int proc_fd, int tid, int fd, struct hd_evidence *out);

/* By its path alone; HD_FD_NONE: it is not one. */
enum hd_fd_kind hd_device_kind(const char *path);

#endif
