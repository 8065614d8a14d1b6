/* SPDX-License-Identifier: MIT
 * Stops a running thread by PTRACE_INTERRUPT, for one copy of registers and stack. The calling thread is the
 * tracer.
 */
#ifndef CLI_LIVE_STOPPED_H
#define CLI_LIVE_STOPPED_H

#include "base/types.h"

/* Copies at most `room` bytes of the stack of thread `tid` in process `pid`. *pause_ns: how long the thread
 * stood still, at most. 0; -ESRCH: the thread has ended; -ETIMEDOUT: it did not stop; or what ptrace says. */
int stopped_capture(int pid, int tid, uint8_t *stack, uint32_t room, struct hd_capture *c,
                    uint64_t *pause_ns);

#endif
