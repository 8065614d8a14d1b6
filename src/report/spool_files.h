/* SPDX-License-Identifier: MIT
 *
 * Names in the spool folder, and walks through the folder. For the writers of the spool, and for the parts of
 * the command that find or finish reports. No allocation.
 */
#ifndef HD_SPOOL_FILES_H
#define HD_SPOOL_FILES_H

#include "report/spool.h"

struct stat;

#define HD_SPOOL_NAME_BYTES 48 /* of any file of ours */

enum hd_spool_file {
    HD_SPOOL_OTHER,    /* of others: Hangdog never changes it */
    HD_SPOOL_REPORT,   /* ID.json */
    HD_SPOOL_DEFERRED, /* `.ID.held` */
    HD_SPOOL_TEMP,     /* .ID.tmp */
    HD_SPOOL_OPEN,     /* .ID.open: publish/fatal_marker.c */
};

void hd_spool_name(char name[HD_SPOOL_NAME_BYTES], const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what);
enum hd_spool_file hd_spool_what(const char *name);

/* Calls `each` for each file of Hangdog until `each` returns other than 0, and returns that value, or a
 * negative errno value. `each` may remove files. */
int hd_spool_walk(int dir_fd, int (*each)(void *ctx, enum hd_spool_file what, const char *name), void *ctx);

/* Lets the owner read and write a new file (0600): the program's umask may have removed these bits. *st: the
 * file before. 0, or a negative errno value when the file cannot be examined. */
int hd_spool_allow_owner(int fd, struct stat *st);

/* Removes temporary files of dead writers. */
void hd_spool_sweep(int dir_fd);
/* Removes the oldest reports until the rest is within the limits, but never the one named `keep`. In a folder
 * where users may remove only their own files (sticky), only those count. 0 or the first error. */
int hd_spool_trim(struct hd_spool *s, const char *keep);

#endif
