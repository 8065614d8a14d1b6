/* SPDX-License-Identifier: MIT
 *
 * Looks at one target's files and at the bounds of its stack. Monitor: no allocation, no lock.
 */
#ifndef HD_TARGET_H
#define HD_TARGET_H

#include "capture/capture.h"
#include "os/linux/proc_text.h"
#include "os/os.h"

/* hd_capture_sched; *counted: the kernel counts the times that the thread was put on a processor. Else equal
 * figures prove nothing of a thread that runs: only leaving a processor is counted. */
int hd_target_sched(const struct hd_target *t, struct hd_sched *out, bool *counted);

/* Each: 0; -ESRCH the thread is gone; or what reading said; -EPROTO for text that is not of its form. */
int hd_target_status(const struct hd_target *t, struct hd_proc_status *out);

/* No signal is sent to it now: the last one broke a call, and it may be in the next one. Asks the kernel:
 * once for each sample. */
bool hd_target_backs_off(struct hd_target *t);
int hd_target_state(const struct hd_target *t, enum hd_run_state *out);
/* Gives the length of the text. */
long hd_target_syscall(const struct hd_target *t, char text[HD_PROC_SYSCALL_BYTES],
                       struct hd_proc_syscall *out);

/* The stack that `sp` is on, if it is the thread's own and plain reads of it are safe. Looks anew where the
 * stack has grown below what was known. */
bool hd_target_bounds(struct hd_target *t, uint64_t sp, uint64_t *lo, uint64_t *hi);

/* Puts what is known of the bounds into the mailbox. */
void hd_target_share_bounds(const struct hd_target *t);

/* Memory of the process that may not be there: bytes read, may be short, or negative. */
long hd_target_read_memory(uint64_t addr, void *to, size_t n);

#endif
