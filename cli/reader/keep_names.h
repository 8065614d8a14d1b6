/* SPDX-License-Identifier: MIT
 *
 * Keeps in a report's file the names that it was shown with: a program that is built anew, or a map of code
 * made at run time that is gone, then takes none away. Ordinary code.
 */
#ifndef CLI_KEEP_NAMES_H
#define CLI_KEEP_NAMES_H

#include <jansson.h>

/* Replaces the file by `report`, as report_symbolicate has named it, where that says more. Only a report that
 * has ended, of the caller's own, under its own name; a folder that cannot be written keeps what it has. The
 * file's mode and date stay. */
void keep_names(const char *path, const json_t *report);

#endif
