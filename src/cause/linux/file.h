/* SPDX-License-Identifier: MIT
 *
 * The file of a call that names it by path or by descriptor. Worker; no allocation.
 */
#ifndef HD_FILE_H
#define HD_FILE_H

#include "cause/probe_context.h"

/* Fills the kind of descriptor and the file's name. Calls such as fstat count as calls by path and may lack
 * one: then their descriptor names the file. */
void hd_file_find(const struct hd_probe_context *ctx, int tid, const struct hd_capture *c,
                  struct hd_evidence *out);

#endif
