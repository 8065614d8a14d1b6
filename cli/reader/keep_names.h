/* SPDX-License-Identifier: MIT
 * Stores in a report's file the names with which the report was shown. A later rebuild of the program, or the
 * loss of a perf map, then takes no name away. One thread.
 */
#ifndef CLI_KEEP_NAMES_H
#define CLI_KEEP_NAMES_H

#include <jansson.h>

/* Replaces the file by `report`, as report_symbolicate has named it, where that says more. Only a report that
 * has ended, of the caller's own, under its own name; a folder that cannot be written keeps what it has. The
 * file's mode and date stay. */
void keep_names(const char *path, const json_t *report);

#endif
