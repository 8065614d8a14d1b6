/* SPDX-License-Identifier: MIT
 * Reads registers and stack of a running thread by a sample of the kernel (perf_event_open). The thread is
 * neither stopped nor signalled. Ordinary code.
 */
#ifndef CLI_LIVE_SAMPLED_H
#define CLI_LIVE_SAMPLED_H

#include "base/types.h"

#define SAMPLED_STACK_BYTES 65000u /* of one sample: its record with all else has less than 64 KiB */

/* The samples of one thread. While they are open, a sample costs two system calls. */
struct sampled;

/* 0, or why the kernel gives no samples, such as -EACCES. The caller closes *s. */
int sampled_open(struct sampled **s, int tid);
void sampled_close(struct sampled *s); /* NULL is allowed */
/* Takes the newest sample that the kernel has made since `since_ns`, and requests the next one. Without one
 * waits until CLOCK_MONOTONIC says `until_ns`. Else as sampled_capture. */
int sampled_next(struct sampled *s, uint64_t since_ns, uint64_t until_ns, uint8_t *stack,
                 struct hd_capture *c);

/* Copies at most SAMPLED_STACK_BYTES of the stack of thread `tid`. Waits until the thread has run for a
 * moment, at most until CLOCK_MONOTONIC says `until_ns`. 0. -EAGAIN: the thread got no CPU. -ENOTSUP: the
 * program has 32 bits. Another value: why the kernel gives no samples, such as -EACCES. */
int sampled_capture(int tid, uint64_t until_ns, uint8_t *stack, struct hd_capture *c);

#endif
