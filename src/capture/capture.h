/* SPDX-License-Identifier: MIT
 *
 * One thread's registers and stack bytes at one instant, by the first method that gives an answer. A capture
 * allocates nothing and takes no lock; on the watched thread it looks nothing up.
 */
#ifndef HD_CAPTURE_H
#define HD_CAPTURE_H

#include "base/types.h"
#include "capture/target.h"

/* Takes one sample. Tries the methods of the target in their order, again and again for up to 5 ms, and the
 * last one then. A signal may take 50 ms more. Always fills *out: `same` proves the earlier stack and copies
 * nothing; the method kernel gives no stack. 0, or -ESRCH: the thread has ended. Monitor.
 *
 * out->stack lies in one of two buffers of the library. A stack that the running thread copied is in place if
 * `in_place` allows that, and stays until the next call that allows it. Any other stack stays until the next
 * call. The worker should read a stack in place, and only the part that it needs. The thread must fetch each
 * cache line that another CPU took, and its next copy then takes ten times as long. */
int hd_capture_take(struct hd_target *t, bool in_place, struct hd_capture *out);

/* Takes the late answer of a thread that gave none in time. The kernel delivers a signal when the thread
 * leaves the kernel. So until the answer the thread was inside the kernel, or had no CPU, and this stack
 * called the kernel. `at_ns` of *out is the instant of the request. 0; -EAGAIN: no answer has come. A target
 * sends no signal until the answer has come, the signal is lost, or the request is forgotten: its turn is
 * over. The in-place buffer is reserved for one target's late answer at a time. Monitor. */
int hd_capture_late(struct hd_target *t, struct hd_capture *out);
void hd_capture_late_forget(struct hd_target *t);
/* False: the in-place buffer is reserved for another target. */
bool hd_capture_may_be_in_place(const struct hd_target *t);

/* The method frozen, once, for a thread that need not be watched. Copies to `stack`, of target->capacity
 * bytes. -EAGAIN: the thread runs; -ESRCH: it has ended; other errors: its files cannot be read. */
int hd_capture_frozen(struct hd_target *t, uint8_t *stack, struct hd_capture *out);

#endif
