/* SPDX-License-Identifier: MIT
 *
 * Worker: what the call waits for that a thread is blocked in, from /proc of this process. No allocation.
 */
#ifndef HD_PROBE_H
#define HD_PROBE_H

#include "cause/probe_context.h"

/* The descriptors first: the modules are read by one of them. */
void hd_probe_context_open(struct hd_probe_context *ctx);
void hd_probe_context_init(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid);
/* The same for another process, with its proc_fd, mem_fd and pid set: `in_libc` is an address of its C
 * library. */
void hd_probe_context_init_other(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid,
                                 uint64_t in_libc);

/* Evidence of one capture of thread `tid`, with its frames, in a turn that began at `turn_ns`. */
void hd_probe_read(struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count, uint64_t turn_ns, struct hd_probe *out);

/* The base name of the file that the call of thread `tid` works on; false: it has none. */
bool hd_probe_file(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c, char path[64]);

#endif
