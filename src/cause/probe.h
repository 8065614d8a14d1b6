/* SPDX-License-Identifier: MIT
 *
 * Reads the evidence of one sample from /proc and from memory, of this process or another. Worker, and
 * `hangdog dump`; no allocation.
 */
#ifndef HD_PROBE_H
#define HD_PROBE_H

#include "cause/probe_context.h"

/* Opens the files of this process. Must come first: the modules are read through one of them. */
void hd_probe_context_open(struct hd_probe_context *ctx);
/* On the worker: `own_tid` is the calling thread. */
void hd_probe_context_init(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid);
/* For another process: the caller has set proc_fd, mem_fd and pid. `in_libc`: an address in that process's C
 * library. */
void hd_probe_context_init_other(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid,
                                 uint64_t in_libc);

/* Fills *out from one capture of thread `tid` and the stack's frames, in a turn that started at `turn_ns`. */
void hd_probe_read(struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count, uint64_t turn_ns, struct hd_probe *out);

/* Writes the base name of the file that the thread's call works on. False: the call has no file. */
bool hd_probe_file(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c, char path[64]);

#endif
