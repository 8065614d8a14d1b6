/* SPDX-License-Identifier: MIT
 *
 * Finds the process that has the lock of a file. /proc/locks has the locks of all processes of the PID
 * namespace. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_FILE_LOCK_H
#define HD_FILE_LOCK_H

#include "cause/probe_context.h"
#include "os/linux/proc_lines.h"

/* One line of /proc/locks, such as "2: -> POSIX  ADVISORY  WRITE 4711 08:01:6163 0 EOF". */
struct hd_file_lock {
    bool waits;  /* true: the process waits for the lock of the last line that does not wait */
    bool write;  /* true: no other process may read */
    char kind;   /* 'P': POSIX, 'O': of an open file description, 'F': flock */
    int32_t pid; /* -1: an open file description's */
    uint64_t inode;
    uint64_t start, end; /* the first and the last byte; UINT64_MAX: the file's end */
};

/* The lines of /proc/locks, in order. */
struct hd_file_locks {
    int fd;
    uint64_t until_cpu_ns; /* the search ends at this CPU time of the calling thread */
    struct hd_proc_lines lines;
};

void hd_file_locks_open(const struct hd_probe_context *ctx, struct hd_file_locks *locks);
/* False: there is no further lock, or the search takes too long. */
bool hd_file_locks_next(struct hd_file_locks *locks, struct hd_file_lock *out);
void hd_file_locks_close(struct hd_file_locks *locks);

/* Pure. False: the line is that of no lock. */
bool hd_file_lock_parse(const char *line, struct hd_file_lock *out);

/* Stores as out->party the process that has the lock that thread `tid` waits for in call `c`, a flock or
 * fcntl. */
void hd_file_lock_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                       struct hd_probe *out);

/* Returns the inode of descriptor `fd` as /proc/locks has it; 0: unknown. */
uint64_t hd_file_lock_inode(const struct hd_probe_context *ctx, int tid, int fd);

#endif
