/* SPDX-License-Identifier: MIT
 *
 * Finds the file that a system call works on, by a path or a descriptor in its arguments. Runs on the worker
 * thread; allocates nothing.
 */
#ifndef HD_FILE_H
#define HD_FILE_H

#include "cause/probe_context.h"

/* Fills *out with the kind of file and the file's base name. If the path of a call such as newfstatat is
 * empty, the call's descriptor names the file. */
void hd_file_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                  struct hd_evidence *out);

/* Writes the absolute path of the file that an argument of the call names. Removes "." and "..", but follows
 * no links. False: the call has no path, or the path cannot be read or does not fit. */
bool hd_file_path(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c, char *path,
                  size_t size);

#endif
