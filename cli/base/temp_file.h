/* SPDX-License-Identifier: MIT
 *
 * Files of a spool that are not there yet. Ordinary code.
 */
#ifndef CLI_TEMP_FILE_H
#define CLI_TEMP_FILE_H

/* Makes the file .ID.tmp, or takes the one that is there, empty and locked until it is closed: an unlocked
 * one is a dead writer's to whoever opens the spool, and is swept. A link to a file elsewhere is removed, and
 * a writer who does not end is not waited for. A descriptor or a negative errno value. */
int temp_file_open(const char *path);

#endif
