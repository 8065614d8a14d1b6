/* SPDX-License-Identifier: MIT
 *
 * speedscope's own format: a sampled profile for each thread of each report, in nanoseconds.
 */
#ifndef CLI_EXPORT_SPEEDSCOPE_H
#define CLI_EXPORT_SPEEDSCOPE_H

#include <jansson.h>
#include <stdio.h>

/* Writes an array of reports. 0, or -1 with errno: no memory, or `out` cannot be written. */
int export_speedscope(FILE *out, const json_t *reports);

#endif
