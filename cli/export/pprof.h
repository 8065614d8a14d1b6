/* SPDX-License-Identifier: MIT
 *
 * A profile of pprof: a protocol buffer (profile.proto), compressed by gzip. Values are samples and
 * nanoseconds; a sample's labels are its app, thread and report.
 */
#ifndef CLI_EXPORT_PPROF_H
#define CLI_EXPORT_PPROF_H

#include <jansson.h>
#include <stdio.h>

/* Writes an array of reports. 0, or -1 with errno: no memory, or `out` cannot be written. */
int export_pprof(FILE *out, const json_t *reports);

#endif
