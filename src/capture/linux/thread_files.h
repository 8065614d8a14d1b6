/* SPDX-License-Identifier: MIT
 *
 * The files of /proc that show one thread, and the memory of the thread's process. A target opens its files
 * once and reads them again and again. On the monitor or worker thread: no allocation, no lock.
 */
#ifndef HD_THREAD_FILES_H
#define HD_THREAD_FILES_H

#include "os/linux/proc_stat.h"
#include "os/linux/proc_text.h"
#include "os/thread_id.h"

/* The thread's three open files of /proc. The descriptors belong to the private descriptor table of the
 * thread that opened the files. A descriptor is -1 if the file cannot be opened. */
struct hd_thread_files {
    int tid;
    int syscall_fd, schedstat_fd, status_fd;
};

/* Opens `task`, `mem` and `pagemap` of /proc/self for the calling thread. After a chroot or a drop of
 * privileges the thread may not be able to open them. The thread must have a private descriptor table.
 * Call this before the thread opens targets. If the function returns an error, the targets use full paths
 * and process_vm_readv. */
int hd_capture_files_open(void);
/* Opens the folder `task` of another process, whose number is `pid`. `proc_fd` is the descriptor of that
 * process's folder in /proc. From now on the calling thread's targets are threads of that process. Only
 * hd_capture_frozen can capture them. */
int hd_capture_process_open(int proc_fd, int pid);
void hd_capture_files_close(void);
/* Replaces the descriptor of the folder `task`, so that it does not lead out of the process's new root
 * folder. Call this when the process has changed its root folder. */
void hd_capture_files_confine(void);

/* Opens the thread's three files, and stores their descriptors in *f. Returns 0, or the error of opening
 * `syscall`, which the kernel may refuse. */
int hd_thread_files_open(struct hd_thread_files *f, hd_thread_id thread);
void hd_thread_files_close(struct hd_thread_files *f);
/* Opens the file `name` in the thread's folder of /proc. Returns the file's descriptor, which the caller
 * must close, or an error. */
int hd_thread_files_open_one(const struct hd_thread_files *f, const char *name);

/* Each of the next three functions reads a file of /proc that shows the thread. They return 0; -ESRCH if
 * the thread has ended; -EPROTO if the text has an unexpected form; or the error of reading the file. */
int hd_thread_files_status(const struct hd_thread_files *f, struct hd_proc_status *out);
int hd_thread_files_stat(const struct hd_thread_files *f, struct hd_proc_stat *out);
int hd_thread_files_state(const struct hd_thread_files *f, enum hd_run_state *out);
/* Reads the thread's file `syscall`. Returns the length of that text, or an error as
 * hd_thread_files_status does. */
long hd_thread_files_syscall(const struct hd_thread_files *f, char text[HD_PROC_SYSCALL_BYTES],
                             struct hd_proc_syscall *out);
/* Reads the thread's file `syscall`. Returns enum hd_proc_where, which says whether the thread runs, or an
 * error as hd_thread_files_status does. */
int hd_thread_files_where(const struct hd_thread_files *f);
/* Returns whether the thread is blocked in the system call, and at the stack pointer, of capture `c`. */
bool hd_thread_files_is_at(const struct hd_thread_files *f, const struct hd_capture *c);
/* Reads the thread's file `schedstat`. Returns the number of bytes read, or an error as
 * hd_thread_files_status does. */
long hd_thread_files_schedstat(const struct hd_thread_files *f, char *text, size_t bytes);
/* Stores the thread's CPU time up to this instant, or 0 if that time is not available. Returns -ENOTSUP if
 * the thread belongs to another process. hd_thread_files_cpu_ns returns the value that hd_thread_files_cpu
 * stores. */
int hd_thread_files_cpu(const struct hd_thread_files *f, uint64_t *ns);
uint64_t hd_thread_files_cpu_ns(const struct hd_thread_files *f);

/* Reads memory that may be unmapped. Returns the number of bytes read, maybe fewer than `n`, or an error. */
long hd_thread_files_memory(uint64_t addr, void *to, size_t n);

#endif
