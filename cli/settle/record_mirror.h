/* SPDX-License-Identifier: MIT
 * A copy of the run's records in the spool while a hang is open. The records are memory, and vanish if runner
 * and program are killed together, as at the end of a container. The copy is a file .ID.record, as with
 * --exec. The next run with this spool settles the file (cli/settle/orphans.h).
 */
#ifndef CLI_RECORD_MIRROR_H
#define CLI_RECORD_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

struct record_mirror {
    const struct hd_record *records;         /* shared with the program */
    const struct hd_record_options *decided; /* the runner's own */
    _Atomic uint32_t wakes;                  /* a futex: counts changes of the spool */
    int fd;                                  /* the copy, locked; -1: no copy */
    bool copied[HD_RECORDS];                 /* the file has record [i] */
    struct hd_record copy;
};

/* Starts a thread of the reporter that makes and updates the copy until the reporter ends. `m` must stay
 * valid as long. Without a thread there is no copy. */
void record_mirror_start(struct record_mirror *m, const struct hd_record *records,
                         const struct hd_record_options *decided);

/* The spool has changed, maybe by the report of a hang. Any thread. */
void record_mirror_wake(struct record_mirror *m);

/* In the runner, after settling: removes the copy that a reporter left. */
void record_mirror_remove(const struct hd_record_options *decided);

#endif
