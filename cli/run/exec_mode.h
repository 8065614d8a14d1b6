/* SPDX-License-Identifier: MIT
 * hangdog run --exec: the program replaces this process, and no runner stays. The record is a file in the
 * spool, which the program keeps locked. The next run with this spool settles the record of a dead program
 * (cli/settle/orphans.h).
 */
#ifndef CLI_EXEC_MODE_H
#define CLI_EXEC_MODE_H

#include "record/record.h"

struct exec_mode {
    int fd;
    struct hd_record *record; /* the first of HD_RECORDS, mapped */
    char path[5 * HD_RECORD_STRING];
};

/* Makes the file from the options of the run. 0 or a negative errno value. */
int exec_mode_prepare(struct exec_mode *e, const struct hd_record_options *options);

/* Becomes the program. Returns only when that failed: a negative errno value, and no file remains. */
int exec_mode_become(struct exec_mode *e, char *const argv[], const char *preload);

#endif
