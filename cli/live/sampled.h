/* SPDX-License-Identifier: MIT
 * Reads registers and stack of a running thread by a sample of the kernel (perf_event_open). The thread is
 * neither stopped nor signalled. Ordinary code.
 */
#ifndef CLI_LIVE_SAMPLED_H
#define CLI_LIVE_SAMPLED_H

#include "base/types.h"

#define SAMPLED_STACK_BYTES 65000u /* of one sample: its record with all else has less than 64 KiB */

/* Copies at most SAMPLED_STACK_BYTES of the stack of thread `tid`. Waits until the thread has run for a
 * moment, at most until CLOCK_MONOTONIC says `until_ns`. 0. -EAGAIN: the thread got no CPU. -ENOTSUP: the
 * program has 32 bits. Another value: why the kernel gives no samples, such as -EACCES. */
int sampled_capture(int tid, uint64_t until_ns, uint8_t *stack, struct hd_capture *c);

#endif
