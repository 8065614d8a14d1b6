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

/* A program with names: a whole ELF or Mach-O file, or a part of a Mach-O file for several CPUs. */
struct debug_file {
    int fd;
    int64_t offset, bytes; /* in the file */
    char build_id[65];     /* lower-case hex */
};

/* Lists the programs of a file, of which the first one has the number 0. False, and why: not such a file, or
 * it has no program of this number. Else the caller closes `fd`. *more: the file has a further one. */
bool symbols_open_file(const char *path, unsigned number, struct debug_file *out, bool *more,
                       struct problem *why);

#endif
