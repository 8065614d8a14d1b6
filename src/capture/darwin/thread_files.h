/* SPDX-License-Identifier: MIT
 *
 * A target reads all facts about its thread by the thread's Mach port. It takes the port once, and uses it
 * again and again. On the monitor or worker thread: no allocation, no lock.
 */
#ifndef HD_THREAD_FILES_H
#define HD_THREAD_FILES_H

#include "base/types.h"
#include "os/darwin/mach.h"
#include "os/thread_id.h"

struct hd_thread_files {
    hd_port port; /* the table of ports owns it; 0: the thread's port is not known */
};

/* Calls the kernel once by the calling thread. The thread's first call allocates its reply port, which must
 * not happen while a thread is suspended. Returns 0. */
int hd_capture_files_open(void);
static inline void hd_capture_files_close(void) {}
static inline void hd_capture_files_confine(void) {}

/* Takes the thread's port from the table of ports. Returns 0, or -ENOENT if the table does not have it. */
int hd_thread_files_open(struct hd_thread_files *f, hd_thread_id thread);
void hd_thread_files_close(struct hd_thread_files *f);
/* The functions read the thread's state, and the first one also its CPU time. They return 0; -ESRCH if the
 * thread has ended; or the error of reading them. */
int hd_thread_files_times(const struct hd_thread_files *f, uint64_t *cpu_ns, enum hd_run_state *state);
int hd_thread_files_state(const struct hd_thread_files *f, enum hd_run_state *out);
/* Returns false: the system shows the place of a thread only while the thread is suspended. */
static inline bool hd_thread_files_is_at(const struct hd_thread_files *f, const struct hd_capture *c) {
    (void)f;
    (void)c;
    return false;
}

/* Reads memory that may be unmapped, in pieces of at most 16 KiB. Returns the number of bytes read, maybe
 * fewer than `n`, or -EFAULT. */
long hd_thread_files_memory(uint64_t addr, void *to, size_t n);

#endif
