/* SPDX-License-Identifier: MIT
 *
 * Opens a file by a path that another user may have written.
 */
#ifndef SYMBOLIZER_REGULAR_FILE_H
#define SYMBOLIZER_REGULAR_FILE_H

#include <sys/stat.h>

/* Opens a regular file for reading, and fills *st. -1 with errno; errno is 0 if the file is not a regular
 * file. A device or a
 * named pipe is not opened. An open could start a watchdog's timer, rewind a tape, or wake a writer of the
 * pipe. */
int regular_file_open(const char *path, struct stat *st);

#endif
