/* SPDX-License-Identifier: MIT
 *
 * Reads small files of /proc as texts. If the process or thread has
 * ended, the text is empty. `dir` and `proc_fd` are descriptors of a folder /proc/PID. Any thread; no
 * allocation, no lock.
 */
#ifndef HD_PROC_FILES_H
#define HD_PROC_FILES_H

#include "base/types.h"

/* These two functions write "task/TID/FILE" and "task/TID/FOLDER/FD": paths relative to /proc/PID. */
void hd_proc_task_path(char *path, size_t size, int tid, const char *file);
void hd_proc_task_fd_path(char *path, size_t size, int tid, const char *folder, int fd);

/* Writes "../PID/FILE". From the folder of any process in /proc, this is the path of a file of process
 * `pid`. */
void hd_proc_process_path(char *path, size_t size, uint64_t pid, const char *file);

/* Opens /proc/self/task/TID/FILE, for a caller that has no descriptor of /proc/self. Returns a descriptor
 * or a negative errno value. */
int hd_proc_open_own_task(int tid, const char *file, int flags);

/* Both functions read at most `size` - 1 bytes by one system call, and end the text with a NUL. They return
 * the number of bytes or a negative errno value. After an error the text is empty. */
long hd_proc_read(int dir, const char *path, char *text, size_t size);
long hd_proc_read_task(int proc_fd, int tid, const char *file, char *text, size_t size);

bool hd_proc_starts_with(const char *s, const char *prefix);
/* Returns the text after `key` in the first line that starts with `key`. NULL: no line does. */
const char *hd_proc_find_line(const char *text, const char *key);

/* Returns how many numbers are in a list that has the kernel's form: "0-7" or "0,2,4,6,8-15". */
uint64_t hd_proc_count_listed(const char *list);

/* Returns the number of open descriptors in a thread's table. -1: the kernel does not permit the read. A
 * result above HD_FEW_OPEN may be less than the true number. */
#define HD_FEW_OPEN 256
long hd_proc_open_count(int proc_fd, int tid);
/* Reads the entries of an epoll instance: lines "tfd: 8 events: ...". Returns the number of bytes. If the
 * thread has more than HD_FEW_OPEN descriptors, returns a negative value and an empty text. The reason: the
 * kernel lists the entries under a lock that epoll_ctl needs. A list of few entries takes below 0.1 ms, but
 * one of 20,000 takes 10 ms. */
long hd_proc_read_epoll(int proc_fd, int tid, int epoll, char *text, size_t size);

#endif
