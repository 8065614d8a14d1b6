/* SPDX-License-Identifier: MIT
 *
 * A running thread, stopped by PTRACE_INTERRUPT for one copy of its registers and stack. Ordinary code; the
 * calling thread traces.
 */
#ifndef CLI_LIVE_STOPPED_H
#define CLI_LIVE_STOPPED_H

#include "base/types.h"

/* Copies at most `room` bytes of the stack of thread `tid` in process `pid`. *pause_ns: how long the thread
 * stood still, at most. 0; -ESRCH: the thread has ended; -ETIMEDOUT: it did not stop; or what ptrace says. */
int stopped_capture(int pid, int tid, uint8_t *stack, uint32_t room, struct hd_capture *c,
                    uint64_t *pause_ns);

#endif
