/* SPDX-License-Identifier: MIT
 *
 * Opening a file that somebody else has named. Ordinary code.
 */
#ifndef SYMBOLIZER_REGULAR_FILE_H
#define SYMBOLIZER_REGULAR_FILE_H

#include <sys/stat.h>

/* For reading, and what it is in *st. -1, with errno, or 0 there when it is no ordinary file: such a one is
 * not opened, which would start a watchdog's timer, rewind a tape, or end the wait of who writes to a named
 * pipe. */
int ordinary_file_open(const char *path, struct stat *st);

#endif
