/* SPDX-License-Identifier: MIT
 *
 * Tells a person of each hang of one run: watches the spool folder for reports of the run's session. Ordinary
 * code.
 */
#ifndef CLI_TELLER_H
#define CLI_TELLER_H

#include "cli/reader/reports.h"
#include "cli/reporter/on_hang.h"
#include "cli/reporter/reporter_process.h"
#include "record/record.h"

#include <pthread.h>
#include <stdint.h>

struct teller {
    const char *spool;
    struct hd_record *records; /* HD_RECORDS: whose reports are told; the program can write them */
    struct hd_record *shared;  /* the same, while the runner has no copy of its own yet */
    const struct hd_record_options *decided;
    const char *spool_words; /* as render_options has them */
    bool json, quiet, colour;
    bool not_kept;            /* the spool goes with the run */
    bool sessions_told;       /* the program's session report was, as JSON */
    struct on_hang *commands; /* what is run for each hang */
    bool lost;                /* the folder was removed: looked for from time to time */
    int notify_fd;            /* inotify; -1: it cannot be had, and the folder is read from time to time */
    uint64_t read_due_ns;     /* when it is, then */
    struct names_process *names;
    bool unread, untold; /* for want of memory: when the folder was read, and in the end */
    struct told_report {
        char id[37];
        uint64_t begin_due_ns;       /* when to tell that it goes on, 0: told, or not due */
        uint64_t lasted_ns, seen_ns; /* what its report said, and when that was read */
        bool told, ended;
    } * seen;
    size_t seen_count, seen_room;
    pthread_mutex_t lock; /* of what is kept: a thread that tells may be left (cli/run/second_thread.h) */
    char *kept;           /* that a program which draws on the screen would lose; NULL: nothing */
    size_t kept_bytes;
};

/* `decided`: the runner's own copy of what it asked for, which outlives the teller. */
void teller_open(struct teller *t, struct hd_record *records, const struct hd_record_options *decided);
void teller_close(struct teller *t);

/* Before each of the calls below that tell, on the first thread: what they need, once there is something to
 * tell. */
void teller_start_names(struct teller *t);

/* Reads what notify_fd has and tells what is new. */
void teller_handle(struct teller *t);
/* Tells of hangs that have lasted for 5 s, and without notify_fd of what is new; when to be called again at
 * the latest, UINT64_MAX: never. */
uint64_t teller_tick(struct teller *t, uint64_t now_ns);
/* Tells what came at last, when the program has ended. */
void teller_finish(struct teller *t);
/* These two also where a thread was left that tells, and has the teller. Runs the command for all that came.
 */
void teller_run_commands(const struct teller *of);
/* Says what was kept while the program drew on the screen. */
void teller_say_kept(struct teller *t);
/* The newest report of this run that is in the spool, with --json a session's too; empty: none. */
void teller_last_left(const struct teller *t, char id[37]);

#endif
