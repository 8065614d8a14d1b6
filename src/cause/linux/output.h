/* SPDX-License-Identifier: MIT
 *
 * Finds the process that does not read what a thread writes to a pipe, a terminal or a local socket. Runs on
 * the worker thread; allocates nothing.
 */
#ifndef HD_OUTPUT_H
#define HD_OUTPUT_H

#include "cause/probe_context.h"

/* Call `c` of thread `tid` writes. If its descriptor is full: stores the reader as out->party, with pid 0 if
 * no process is found. Stores a terminal's name, such as "pts/3", in out->evidence. The caller has filled the
 * rest of out->evidence and out->peer. */
void hd_output_find(struct hd_probe_context *ctx, int tid, const struct hd_capture *c, struct hd_probe *out);

#endif
