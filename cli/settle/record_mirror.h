/* SPDX-License-Identifier: MIT
 *
 * A copy of the run's records in the spool, which exists while a hang is open. The records are memory: they
 * vanish if runner and program are killed together, as at the end of a container. The copy is a file
 * .ID.record, like that of a program with --exec. The next run with this spool settles the file (orphans.h).
 */
#ifndef CLI_RECORD_MIRROR_H
#define CLI_RECORD_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

struct record_mirror {
    const struct hd_record *records;         /* shared with the program */
    const struct hd_record_options *decided; /* the options that the runner set */
    _Atomic uint32_t wakes;                  /* futex word: the number of changes of the spool */
    /* descriptor of the copy's file, which is locked; -1: there is no copy */
    int fd;
    bool copied[HD_RECORDS]; /* true: the copy's file has record [i] */
    struct hd_record copy;
};

/* Starts a thread of the reporter, which makes and updates the copy until the reporter ends. `m` must stay
 * valid until then. If the thread cannot start, there is no copy. */
void record_mirror_start(struct record_mirror *m, const struct hd_record *records,
                         const struct hd_record_options *decided);

/* Called on any thread when the spool has changed, maybe by the report of a hang. Wakes the copy's thread,
 * which then updates the copy. */
void record_mirror_wake(struct record_mirror *m);

/* Called by the runner after settling. Removes the copy that a reporter has left. */
void record_mirror_remove(const struct hd_record_options *decided);

#endif
