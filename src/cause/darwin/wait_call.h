/* SPDX-License-Identifier: MIT
 *
 * Finds the call that a blocked thread is in. For each call, libsystem_kernel has a stub.
 * The stub stores the call's number in a register, and the next instruction enters the kernel. So the stub's
 * code shows the number on both CPUs. On arm64 the register x16 has it too, and the stub's name shows it
 * where neither does. Runs on the worker thread; allocates nothing.
 */
#ifndef HD_CAUSE_DARWIN_WAIT_CALL_H
#define HD_CAUSE_DARWIN_WAIT_CALL_H

#include "cause/probe_context.h"

#define HD_WAIT_CODE_BYTES 10 /* of a stub, before the address at which the thread waits */

/* Return true if the last instruction of `code` enters the kernel. Store the call's number in *nr, or
 * HD_SYSCALL_NONE if the code before does not show it. Pure. */
bool hd_wait_call_arm64(const uint8_t code[HD_WAIT_CODE_BYTES], int32_t *nr);
bool hd_wait_call_x86_64(const uint8_t code[HD_WAIT_CODE_BYTES], int32_t *nr);

/* Returns the call that the thread of capture `c` is blocked in; HD_SYSCALL_NONE: it is in none. A thread
 * that runs is in none, although x16 still has the last call's number. So is one that waits for a page
 * of memory. `ctx->modules` must be set. */
int32_t hd_wait_call_find(struct hd_probe_context *ctx, const struct hd_capture *c);

#endif
