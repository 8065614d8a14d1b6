/* SPDX-License-Identifier: MIT
 *
 * Finds the mounted file system that a thread waits for, unless that is the file system of a local disk: NFS,
 * CIFS, FUSE, autofs. Runs on the worker thread; allocates nothing.
 *
 * The functions only read mountinfo, because stat() or statfs() would block as the thread does.
 */
#ifndef HD_MOUNT_H
#define HD_MOUNT_H

#include "cause/probe_context.h"

/* One line of the file mountinfo. */
struct hd_mount {
    uint64_t id;
    const char *point, *type, *source;
};

/* Fills out->party for a thread that is blocked in a call on a file. Changes nothing if the file lies on a
 * local disk, or if its mount is unknown. */
void hd_mount_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                   struct hd_probe *out);

/* Pure. Splits a line of mountinfo in place and decodes its names. False: the line has another form. */
bool hd_mount_parse(char *line, struct hd_mount *out);

/* Pure. Writes, for example, "NFS server files.example:/export" or "FUSE file system s3fs at backup". False:
 * the mount is on a local disk. Leaves out a user's name and password. */
bool hd_mount_describe(const struct hd_mount *m, char *out, size_t size);

/* Pure. Returns the length of mount point `point` if `path` lies below the mount point, else 0. */
size_t hd_mount_covers(const char *point, const char *path);

#endif
