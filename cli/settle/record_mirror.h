/* SPDX-License-Identifier: MIT
 *
 * A copy of the run's records in the spool, which exists while a hang is open. The records are memory: they
 * vanish if runner and program are killed together, as at the end of a container. The copy is a file
 * .ID.record, like that of a program with --exec. If the runner is killed, the next run with this spool
 * settles the copy (orphans.h).
 */
#ifndef CLI_RECORD_MIRROR_H
#define CLI_RECORD_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

struct record_mirror {
    const struct hd_record *records;         /* shared with the program */
    const struct hd_record_options *decided; /* the options that the runner set */
    /* futex word of the copy's thread: the number of record_mirror_wake's calls */
    _Atomic uint32_t wakes;
    /* descriptor of the copy's file, which is locked; -1: there is no copy */
    int fd;
    bool copied[HD_RECORDS]; /* true: the copy's file has record [i] with an open hang */
    struct hd_record copy;
};

/* Starts a thread of the reporter, which makes and updates the copy until the reporter ends. `m` must stay
 * valid until the reporter ends. If the thread cannot start, there is no copy. */
void record_mirror_start(struct record_mirror *m, const struct hd_record *records,
                         const struct hd_record_options *decided);

/* Called on any thread when the spool has changed, maybe by the report of a hang. Wakes the copy's thread,
 * which then updates the copy. */
void record_mirror_wake(struct record_mirror *m);

/* Called by the runner after it has settled the run's records. Removes the copy's file if the reporter has
 * left it in the spool. */
void record_mirror_remove(const struct hd_record_options *decided);

#endif
