/* SPDX-License-Identifier: MIT
 *
 * Reads small files of /proc as texts, and the list of a process's threads. Any thread; no allocation, no
 * lock. If the process or thread has ended, the text is empty. `dir` and `proc_fd` are descriptors of a
 * folder /proc/PID.
 */
#ifndef HD_PROC_FILES_H
#define HD_PROC_FILES_H

#include "base/types.h"

/* Write "task/TID/FILE" and "task/TID/FOLDER/FD", relative to /proc/PID. */
void hd_proc_task_path(char *path, size_t size, int tid, const char *file);
void hd_proc_task_fd_path(char *path, size_t size, int tid, const char *folder, int fd);

/* Writes "../PID/FILE": the path of another process's file, from the folder of any process in /proc. */
void hd_proc_process_path(char *path, size_t size, uint64_t pid, const char *file);

/* Opens /proc/self/task/TID/FILE, for a caller that has no descriptor of /proc/self. Returns a descriptor
 * or a negative errno value. */
int hd_proc_open_own_task(int tid, const char *file, int flags);

/* Read at most `size` - 1 bytes by one system call, and end the text with a NUL. Return the number of
 * bytes or a negative errno value. After an error the text is empty. */
long hd_proc_read(int dir, const char *path, char *text, size_t size);
long hd_proc_read_task(int proc_fd, int tid, const char *file, char *text, size_t size);

bool hd_proc_starts_with(const char *s, const char *prefix);
/* Returns the text after `key` in the first line that starts with `key`; NULL: there is no such line. */
const char *hd_proc_find_line(const char *text, const char *key);

/* Reads the decimal number after blanks; 0 if no digit follows. Returns the end of the number. */
const char *hd_proc_take_number(const char *p, uint64_t *out);

/* Counts the numbers in a list as the kernel prints it: "0-7", "0,2,4,6,8-15". */
uint64_t hd_proc_count_listed(const char *list);

/* Returns the number of open descriptors in a thread's table; -1: the kernel does not permit the read. A
 * number above HD_FEW_OPEN may be too small. */
#define HD_FEW_OPEN 256
long hd_proc_open_count(int proc_fd, int tid);
/* Reads the entries of an epoll instance: lines "tfd: 8 events: ...". Returns the number of bytes. While
 * the thread has more than HD_FEW_OPEN descriptors, returns a negative value and an empty text. The kernel
 * lists the entries under a lock that epoll_ctl needs: below 0.1 ms for few entries, 10 ms for 20,000. */
long hd_proc_read_epoll(int proc_fd, int tid, int epoll, char *text, size_t size);

/* The state of a walk over the thread ids of a process. */
struct hd_proc_tasks {
    int fd;
    long bytes, at;
    _Alignas(8) char entries[2048];
};

/* Starts a walk. If the caller stops before hd_proc_tasks_next has returned 0, the caller must call
 * hd_proc_tasks_end. */
void hd_proc_tasks_start(struct hd_proc_tasks *t, int proc_fd);
/* Returns the next thread's id; 0: there is no further thread, or the folder cannot be read. */
int hd_proc_tasks_next(struct hd_proc_tasks *t);
void hd_proc_tasks_end(struct hd_proc_tasks *t);

#endif
