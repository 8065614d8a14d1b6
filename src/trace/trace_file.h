/* SPDX-License-Identifier: MIT
 *
 * The file that a traced process leaves: JSON, in the form that docs/trace.md describes.
 */
#ifndef HD_TRACE_FILE_H
#define HD_TRACE_FILE_H

#include "trace/trace.h"

/* Writes it, at the process's end. Where it cannot, it says so on standard error. */
void hd_trace_write(const struct hd_trace *t);

#endif
