/* SPDX-License-Identifier: MIT
 *
 * The files of /proc that show one thread, and the memory of the process. A target opens its files once and
 * reads them again and again. Monitor or worker: no allocation, no lock.
 */
#ifndef HD_THREAD_FILES_H
#define HD_THREAD_FILES_H

#include "os/linux/proc_stat.h"
#include "os/linux/proc_text.h"
#include "os/thread_id.h"

/* The descriptors are in the calling thread's own table. -1: the file cannot be opened. */
struct hd_thread_files {
    int tid;
    int syscall_fd, schedstat_fd, status_fd;
};

/* The calling thread keeps /proc/self/task, mem and pagemap, for a later chroot or drop of privileges. Call
 * before the thread opens targets: it has a descriptor table of its own. Where this fails, targets use full
 * paths and process_vm_readv. */
int hd_capture_files_open(void);
/* The same for process `pid`, whose folder of /proc is `proc_fd`. From now on the calling thread's targets
 * are threads of that process, and only hd_capture_frozen can take them. */
int hd_capture_process_open(int proc_fd, int pid);
void hd_capture_files_close(void);
/* The process has another root now: no open descriptor may lead out of that root. */
void hd_capture_files_confine(void);

/* Opens all three. The result is 0, or the error of opening `syscall`, which the kernel may refuse. */
int hd_thread_files_open(struct hd_thread_files *f, hd_thread_id thread);
void hd_thread_files_close(struct hd_thread_files *f);
/* Descriptor of a file that is not kept; the caller closes the file. */
int hd_thread_files_open_one(const struct hd_thread_files *f, const char *name);

/* The readers return 0, -ESRCH (the thread has ended), -EPROTO (text of another form), or the error of the
 * read. */
int hd_thread_files_status(const struct hd_thread_files *f, struct hd_proc_status *out);
int hd_thread_files_stat(const struct hd_thread_files *f, struct hd_proc_stat *out);
int hd_thread_files_state(const struct hd_thread_files *f, enum hd_run_state *out);
/* Returns the length of the text. */
long hd_thread_files_syscall(const struct hd_thread_files *f, char text[HD_PROC_SYSCALL_BYTES],
                             struct hd_proc_syscall *out);
/* Whether the thread runs: enum hd_proc_where, or an error as above. */
int hd_thread_files_where(const struct hd_thread_files *f);
/* Returns the bytes read. */
long hd_thread_files_schedstat(const struct hd_thread_files *f, char *text, size_t bytes);
/* CPU time up to this instant, or 0 where that is not available. -ENOTSUP: the thread belongs to another
 * process. The second function returns the time. */
int hd_thread_files_cpu(const struct hd_thread_files *f, uint64_t *ns);
uint64_t hd_thread_files_cpu_ns(const struct hd_thread_files *f);

/* Reads memory that may be unmapped. Returns the bytes read, maybe fewer than `n`, or an error. */
long hd_thread_files_memory(uint64_t addr, void *to, size_t n);

#endif
