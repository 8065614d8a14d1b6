/* SPDX-License-Identifier: MIT
 *
 * Small files of /proc as texts, and the list of the threads. No allocation, no lock. What has gone meanwhile
 * reads as empty.
 */
#ifndef HD_PROC_FILES_H
#define HD_PROC_FILES_H

#include "base/types.h"

/* "task/TID/FILE", below /proc/self; and "task/TID/FOLDER/FD". */
void hd_proc_task_path(char *path, size_t size, int tid, const char *file);
void hd_proc_task_fd_path(char *path, size_t size, int tid, const char *folder, int fd);

/* "../PID/FILE", below /proc/self. */
void hd_proc_process_path(char *path, size_t size, uint64_t pid, const char *file);

/* The first, opened by its whole path: on a thread that keeps no /proc/self. A descriptor, or a negative
 * errno value. */
int hd_proc_open_own_task(int tid, const char *file, int flags);

/* As much as there is room for; always ends with a NUL. Bytes, or a negative errno value. */
long hd_proc_read(int dir, const char *path, char *text, size_t size);
long hd_proc_read_task(int proc_fd, int tid, const char *file, char *text, size_t size);

bool hd_proc_starts_with(const char *s, const char *prefix);
/* What follows `key` where a line begins with it; NULL: none does. */
const char *hd_proc_find_line(const char *text, const char *key);

/* The decimal number that `p` begins with, after blanks; 0 when it is none. Returns what follows it. */
const char *hd_proc_take_number(const char *p, uint64_t *out);

/* How many numbers a list of the kernel's names: "0-7", "0,2,4,6,8-15". */
uint64_t hd_proc_count_listed(const char *list);

/* Open descriptors of a thread, -1: they cannot be read. Above HD_FEW_OPEN the number may be too small. */
#define HD_FEW_OPEN 256
long hd_proc_open_count(int proc_fd, int tid);
/* An epoll instance's content, lines "tfd: 8 events: ...". Nothing, and a negative number, where more than
 * HD_FEW_OPEN descriptors are open: the kernel writes all of it under a lock that epoll_ctl needs, for less
 * than 0.1 ms where they are few, for 10 ms where they are 20,000. The count is the last step before the
 * read: little can be added in between. */
long hd_proc_read_epoll(int proc_fd, int tid, int epoll, char *text, size_t size);

struct hd_proc_tasks {
    int fd;
    long bytes, at;
    _Alignas(8) char entries[2048];
};

/* Nothing to close: the last call of hd_proc_tasks_next does, or hd_proc_tasks_end before it. */
void hd_proc_tasks_start(struct hd_proc_tasks *t, int proc_fd);
/* The next thread's id; 0: there is none left. */
int hd_proc_tasks_next(struct hd_proc_tasks *t);
void hd_proc_tasks_end(struct hd_proc_tasks *t);

#endif
