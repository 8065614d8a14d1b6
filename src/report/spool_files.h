/* SPDX-License-Identifier: MIT
 *
 * Names in the spool folder and walks through it; for the spool's own files. No allocation.
 */
#ifndef HD_SPOOL_FILES_H
#define HD_SPOOL_FILES_H

#include "report/spool.h"

struct stat;

#define HD_SPOOL_NAME_BYTES 48 /* of any file of ours */

enum hd_spool_file {
    HD_SPOOL_OTHER,    /* not ours: never touched */
    HD_SPOOL_REPORT,   /* ID.json */
    HD_SPOOL_DEFERRED, /* .ID.held */
    HD_SPOOL_TEMP,     /* .ID.tmp */
    HD_SPOOL_OPEN,     /* .ID.open: publish/fatal_marker.c */
};

void hd_spool_name(char name[HD_SPOOL_NAME_BYTES], const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what);
enum hd_spool_file hd_spool_what(const char *name);

/* Calls `each` for every file of ours until it returns other than 0, and returns that; or a negative errno
 * value. Files that `each` removes are no trouble. */
int hd_spool_walk(int dir_fd, int (*each)(void *ctx, enum hd_spool_file what, const char *name), void *ctx);

/* A file that was just made is its owner's to use (0600), also where the program's umask masks the owner's
 * own bits. *st: what it was before. 0, or why it cannot be looked at. */
int hd_spool_allow_owner(int fd, struct stat *st);

/* Removes temporary files whose writer is dead. */
void hd_spool_sweep(int dir_fd);
/* Removes the oldest reports until the limits hold, never the one named `keep`; in a folder where users may
 * remove only their own, of these. 0 or the first error. */
int hd_spool_trim(struct hd_spool *s, const char *keep);

#endif
