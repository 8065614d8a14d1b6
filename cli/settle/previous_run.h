/* SPDX-License-Identifier: MIT
 *
 * Remembers how a program's last run ended: one file with one line in the spool, for each app name. The
 * runner's main thread.
 */
#ifndef CLI_PREVIOUS_RUN_H
#define CLI_PREVIOUS_RUN_H

#include "cli/settle/run_result.h"

#define PREVIOUS_LINE_BYTES 256

struct previous {
    const char *end; /* the report's word for the end of the run before; NULL: not known */
    char path[4 * HD_RECORD_STRING + 64];
    int fd;                         /* the file, locked while this run lasts; -1: no file */
    bool another;                   /* another run of this name lasts, and has the lock */
    bool strange;                   /* not a file of ours, or the open failed */
    char line[PREVIOUS_LINE_BYTES]; /* as the run before left it */
    struct program_state {
        unsigned long long bytes, modified_ns;
    } program;
    uint64_t oom_kills;
    unsigned reporters_killed; /* by SIGKILL: out of memory, the kernel kills the reporter first */
};

/* Before the program starts. `file`: the program's path; NULL: not found. Does not access the spool. */
void previous_prepare(struct previous *p, const char *spool, const char *name, const char *file);

/* After the start: reads the line into `p->end`, and replaces an existing line by one that says that the run
 * lasts. */
void previous_begin(struct previous *p);

/* After the program has ended and its records are settled: stores how the run ended, for the next run. */
void previous_note(struct previous *p, const struct run_result *r, unsigned reporters_killed);

/* For a record that was settled after its runner died: stores that the program died in a hang. */
void previous_note_fatal_hang(const char *spool, const char *name);

/* For a run without a runner: removes the line, since no process will store the run's end. */
void previous_forget(const char *spool, const char *name);

#endif
