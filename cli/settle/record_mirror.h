/* SPDX-License-Identifier: MIT
 *
 * A copy of the run's records in the spool, as long as a hang is open. The records are memory: they go where
 * the runner and its program are killed at once, as at the end of a container. The copy is a file named
 * .ID.record, as that of --exec: the next run with this spool settles it (cli/settle/orphans.h).
 */
#ifndef CLI_RECORD_MIRROR_H
#define CLI_RECORD_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

struct record_mirror {
    const struct hd_record *records;         /* shared with the program */
    const struct hd_record_options *decided; /* the runner's own */
    _Atomic uint32_t wakes;                  /* a futex: the spool has something new */
    int fd;                                  /* locked; -1: there is no copy */
    bool copied[HD_RECORDS];                 /* the file has this one */
    struct hd_record copy;
};

/* The reporter: a thread that makes and updates the copy until its process ends; `m` outlives it. Without a
 * thread there is no copy. */
void record_mirror_start(struct record_mirror *m, const struct hd_record *records,
                         const struct hd_record_options *decided);

/* The spool has something new, perhaps the report of a hang. Any thread. */
void record_mirror_wake(struct record_mirror *m);

/* The runner, when all is settled: removes what a reporter left. */
void record_mirror_remove(const struct hd_record_options *decided);

#endif
