/* SPDX-License-Identifier: MIT
 *
 * hangdog run --exec: the program takes our place, and nobody stays. What it would have told us is in a file
 * of the spool, which is locked as long as the program has it: the next start with the same spool that gets
 * the lock owns a dead program's. Ordinary code.
 */
#ifndef CLI_ALONE_H
#define CLI_ALONE_H

#include "record/record.h"

struct alone {
    int fd;
    struct hd_record *record; /* the first of HD_RECORDS, mapped */
    char path[5 * HD_RECORD_STRING];
};

/* Makes the file; `options` are those of the run, `link` and `alone` are set here. 0 or a negative errno
 * value. */
int alone_prepare(struct alone *a, const struct hd_record_options *options);

/* Becomes the program. Returns only when that failed: a negative errno value, and no file is left. */
int alone_become(struct alone *a, char *const argv[], const char *preload);

/* Closes the books of programs that ended without us: hangs that they died in become fatal hangs. What
 * another version wrote is said to be lost, but for `quiet`. Then sweeps reports that were held for a month:
 * nobody else will release them. 0, or a negative errno value: not all could be written, and the next one
 * will try again. */
int alone_settle_dead(const char *spool, bool quiet);

#endif
