/* SPDX-License-Identifier: MIT
 *
 * Sends debug files to a collector, each under its build-id, in pieces. Ordinary code.
 */
#ifndef UPLOADER_SYMBOLS_H
#define UPLOADER_SYMBOLS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/base/error.h"

/* `hangdog upload-symbols`: the exit status. `stop` ends a transfer once it is not 0. */
int symbols_main(int argc, char **argv, const volatile sig_atomic_t *stop);

/* An ELF file with debug information. */
struct debug_file {
    int fd;
    int64_t bytes;
    char build_id[65]; /* lower-case hex */
};

/* False, and why: not such a file. Else the caller closes `fd`. */
bool symbols_open_file(const char *path, struct debug_file *out, struct problem *why);

#endif
