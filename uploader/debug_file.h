/* SPDX-License-Identifier: MIT
 *
 * A debug file on this machine: its size and its build-id. Ordinary code.
 */
#ifndef UPLOADER_DEBUG_FILE_H
#define UPLOADER_DEBUG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/error.h"

struct debug_file {
    int fd;
    int64_t bytes;
    char build_id[65]; /* lower-case hex */
};

/* False, and why: the file is none. Else the caller closes `fd`. */
bool debug_file_open(const char *path, struct debug_file *out, struct problem *why);

#endif
