/* SPDX-License-Identifier: MIT
 *
 * Writing a report's file from JSON. Ordinary code.
 */
#ifndef CLI_REPORT_FILE_H
#define CLI_REPORT_FILE_H

#include <jansson.h>
#include <sys/stat.h>

/* Gives DIR/ID.json, which is `path`, that report: it is complete on disk before it has the name. `like`: the
 * file that it replaces, which must still be there, and whose mode and date it gets; NULL: it is new. 0 or a
 * negative errno value; then what stood there stays. */
int report_file_replace(const char *path, const json_t *report, const struct stat *like);

#endif
