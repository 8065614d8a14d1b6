/* SPDX-License-Identifier: MIT
 *
 * Which debug files a report's frames lack: its stack, its tree, and the lock's owner. Pure.
 */
#ifndef COLLECTOR_REPORT_UNNAMED_H
#define COLLECTOR_REPORT_UNNAMED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define UNNAMED_BUILDS_MAX 8
#define UNNAMED_ID_BYTES 65

/* Lower-case hex of 4 to 32 bytes: a build-id is the name of a file. */
bool unnamed_is_build_id(const char *text);

/* The build-ids of the modules that have frames without a function; how many. */
size_t unnamed_builds(const json_t *report, char out[UNNAMED_BUILDS_MAX][UNNAMED_ID_BYTES]);

#endif
