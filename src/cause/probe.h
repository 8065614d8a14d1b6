/* SPDX-License-Identifier: MIT
 *
 * Reads the evidence of one sample of this process or of another one. The evidence is in the process's memory
 * and in its files in /proc. Runs on the worker thread and in `hangdog dump`; allocates nothing.
 */
#ifndef HD_PROBE_H
#define HD_PROBE_H

#include "cause/probe_context.h"

/* Opens the files of this process in /proc. Call this first: the caller needs ctx->mem_fd to read the
 * modules for hd_probe_context_init. */
void hd_probe_context_open(struct hd_probe_context *ctx);
/* Fills the members that hd_probe_context_open leaves empty, for this process. Runs on the worker thread.
 * `own_tid`: the id of the calling thread. */
void hd_probe_context_init(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid);
/* Like hd_probe_context_init, for another process. The caller must have set proc_fd, mem_fd and pid.
 * `in_libc`: an address in that process's C library. */
void hd_probe_context_init_other(struct hd_probe_context *ctx, struct hd_modules *modules, int own_tid,
                                 uint64_t in_libc);

/* Fills *out from capture `c` of thread `tid` and from the frames of the thread's stack. `turn_ns`: start of
 * the turn (CLOCK_MONOTONIC). The members for_ns, cpu_ns and delay_ns of *out become 0; the caller sets them
 * later. */
void hd_probe_read(struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count, uint64_t turn_ns, struct hd_probe *out);

/* Writes the base name of the file that the thread's call works on; the name may lack a NUL. False: the call
 * has no file. */
bool hd_probe_file(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c, char path[64]);

#endif
