/* SPDX-License-Identifier: MIT
 *
 * Captures one thread's registers and stack bytes at one instant, by the first capture method that succeeds.
 * A capture allocates nothing and takes no lock. The signal handler, which runs on the watched thread, looks
 * up neither symbols nor modules.
 */
#ifndef HD_CAPTURE_H
#define HD_CAPTURE_H

#include "base/types.h"
#include "capture/target.h"

/* Takes one sample of the target's thread. Tries the target's capture methods in order and, while none
 * succeeds, repeats them all for up to 5 ms. After that the function uses the last method, `kernel`, which
 * gives no stack. Where a method sends a signal, the monitor may wait up to 50 ms more for the answer.
 *
 * Always fills *out. If out->same is true, the stack is that of the previous capture, and nothing is copied.
 * Returns 0, or -ESRCH if the thread has ended. On the monitor thread.
 *
 * out->stack lies in one of two buffers of the library. If `in_place` is true, a running thread copies its
 * stack into the first buffer. That copy is valid until the next call with `in_place` true. Every other stack
 * is in the second buffer, and is valid only until the next call.
 *
 * The worker should read as little of the first buffer as possible, because the thread must fetch each
 * cache line that the worker has read. The thread's next copy then takes ten times as long. */
int hd_capture_take(struct hd_target *t, bool in_place, struct hd_capture *out);

/* Takes the late answer of a thread that did not answer its signal in time. The kernel delivers a signal when
 * the thread leaves the kernel. So from the request until the answer, the thread was inside the kernel or had
 * no CPU. Its stack shows which code called the kernel. out->at_ns is the time of the request.
 *
 * Returns 0, or -EAGAIN if no answer has come yet. The target sends no other signal until the answer has
 * come, the signal is lost, or hd_capture_late_forget is called. Only one target at a time may have its late
 * answer in the first buffer. On the monitor thread. */
int hd_capture_late(struct hd_target *t, struct hd_capture *out);
void hd_capture_late_forget(struct hd_target *t);
/* Returns whether a capture of `t` may use the first buffer. If that buffer is reserved for the late
 * answer of another target, returns false. A capture of `t` then uses the second buffer, whatever
 * `in_place` is. */
bool hd_capture_may_be_in_place(const struct hd_target *t);

/* Tries only the capture method frozen, and only once, so the thread need not be watched. Copies the stack to
 * `stack`, which has target->capacity bytes. Returns 0; -EAGAIN if the thread runs; -ESRCH if the thread has
 * ended; otherwise the error of reading the thread's files. On the thread that opened the target. */
int hd_capture_frozen(struct hd_target *t, uint8_t *stack, struct hd_capture *out);

/* Returns true if the capture shows a wait, the thread has run since, and the thread does not wait at the
 * same place again. The caller may then have read memory of a later moment, which does not fit the
 * capture. Returns false if the thread's scheduling statistics do not show whether it has run. On the monitor
 * or worker thread. */
bool hd_capture_has_moved(hd_thread_id thread, const struct hd_capture *c);

/* Returns whether the capture shows the stack of a thread that waited in the kernel. */
static inline bool hd_capture_shows_wait(const struct hd_capture *c) {
    return c->way == HD_WAY_FROZEN || (c->way == HD_WAY_SUSPENDED && c->state != HD_RUN_RUNNING);
}

#endif
