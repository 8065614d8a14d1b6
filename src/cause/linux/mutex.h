/* SPDX-License-Identifier: MIT
 *
 * Worker: the owner of glibc's mutex that a thread waits for. No allocation.
 */
#ifndef HD_MUTEX_H
#define HD_MUTEX_H

#include "cause/probe.h"

/* Finds the lock functions of libc, of which `in_libc` is an address. */
void hd_mutex_init(struct hd_probe_context *ctx, uint64_t in_libc);

/* The innermost frames are of a mutex's lock: itself, or its slow path called by it. */
bool hd_mutex_is_locking(const struct hd_probe_context *ctx, const struct hd_frame *frames, uint32_t count);

#endif
