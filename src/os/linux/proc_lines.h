/* SPDX-License-Identifier: MIT
 *
 * Reads a file of /proc line by line. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_LINES_H
#define HD_PROC_LINES_H

#include "base/types.h"

struct hd_proc_lines {
    int fd;         /* of the open file; the caller closes it */
    size_t at, end; /* the bytes of `text` that are read and not yet returned */
    bool cut;       /* true: the next bytes are the rest of a line that did not fit into `text` */
    char text[2048];
};

void hd_proc_lines_init(struct hd_proc_lines *lines, int fd);

/* Returns the next line without its newline, or only the start of a line that does not fit into `text`. The
 * caller may change the line, which is valid until the next call. NULL: the file has no further line. */
char *hd_proc_lines_next(struct hd_proc_lines *lines);

#endif
