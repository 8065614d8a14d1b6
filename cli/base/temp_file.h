/* SPDX-License-Identifier: MIT
 *
 * Files of a spool that are not there yet. Ordinary code.
 */
#ifndef CLI_TEMP_FILE_H
#define CLI_TEMP_FILE_H

/* Makes the file .ID.tmp, or empties an existing one, and locks it until the close. The next process that
 * opens the spool removes an unlocked file, which is that of a dead writer. Removes a link to another file.
 * Does not wait for a writer that has the lock for long. A descriptor or a negative errno value. */
int temp_file_open(const char *path);

#endif
