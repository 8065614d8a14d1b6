/* SPDX-License-Identifier: MIT
 *
 * A profile of the Firefox Profiler: the processed format, version 63, which newer viewers upgrade. A process
 * for each report, a marker for each hang. Weights are milliseconds.
 */
#ifndef CLI_EXPORT_FIREFOX_H
#define CLI_EXPORT_FIREFOX_H

#include <jansson.h>
#include <stdio.h>

/* Writes an array of reports. 0, or -1 with errno: no memory, or `out` cannot be written. */
int export_firefox(FILE *out, const json_t *reports);

#endif
