/* SPDX-License-Identifier: MIT
 *
 * A report as text in the form of Apple's spindump: a header, the heaviest stack, a call tree for
 * each thread with its time, the modules. For issue trackers and mail.
 */
#ifndef CLI_EXPORT_TEXT_H
#define CLI_EXPORT_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Writes an array of reports. 0, or -1 with errno: no memory, or `out` cannot be written. */
int export_text(FILE *out, const json_t *reports);

#endif
