/* SPDX-License-Identifier: MIT
 *
 * Why a report is in its group, as a sentence. Pure.
 */
#ifndef COLLECTOR_REPORT_WHY_H
#define COLLECTOR_REPORT_WHY_H

#define WHY_BYTES 4096

/* Of the lines of a group's path (grouping.h). In `out`, which is returned. */
const char *why_grouped(const char *path, char out[WHY_BYTES]);

#endif
