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
 * `own`: the calling thread. */
void hd_probe_context_init(struct hd_probe_context *ctx, struct hd_modules *modules, hd_thread_id own);
/* Like hd_probe_context_init, for another process. The caller must have set proc_fd, mem_fd and pid.
 * `in_libc`: an address in that process's C library. */
void hd_probe_context_init_other(struct hd_probe_context *ctx, struct hd_modules *modules, hd_thread_id own,
                                 uint64_t in_libc);

/* Fills *out from capture `c` of `thread` and from the frames of the thread's stack. `turn_ns`: start of
 * the turn (CLOCK_MONOTONIC). The members for_ns, cpu_ns and delay_ns of *out become 0; the caller sets them
 * later. */
void hd_probe_read(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                   const struct hd_frame *frames, uint32_t count, uint64_t turn_ns, struct hd_probe *out);

/* Corrects *probe by capture `c`, which has the same stack as the capture before. Reads again what may have
 * changed: the owner of a lock, and whether a child uses the terminal. */
void hd_probe_read_again(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                         uint64_t turn_ns, struct hd_probe *probe);

/* Returns the number of the call that the thread of capture `c` is blocked in; HD_SYSCALL_NONE: none. The
 * member c->syscall_nr may lack the number, on a CPU whose registers do not show it. */
int32_t hd_probe_call(struct hd_probe_context *ctx, const struct hd_capture *c);

/* Returns the thread that the thread of capture `c` waits for: the owner of a lock, or the thread that
 * pthread_join waits for. HD_THREAD_ID_NONE: none, or unknown. */
hd_thread_id hd_probe_awaited_thread(struct hd_probe_context *ctx, const struct hd_capture *c,
                                     const struct hd_frame *frames, uint32_t count);

/* Writes the base name of the file that the thread's call works on; the name may lack a NUL. False: the call
 * has no file. */
bool hd_probe_file(struct hd_probe_context *ctx, hd_thread_id thread, const struct hd_capture *c,
                   char path[64]);

#endif
