/* SPDX-License-Identifier: MIT
 *
 * How the run before ended: one line in the spool, for each name that programs have there. Ordinary code.
 */
#ifndef CLI_PREVIOUS_RUN_H
#define CLI_PREVIOUS_RUN_H

#include "cli/settle/run_result.h"

#define PREVIOUS_LINE_BYTES 256

struct previous {
    const char *end; /* the report form's word for how the run before ended; NULL: nobody knows of one */
    char path[4 * HD_RECORD_STRING + 64];
    int fd;                         /* of the line, locked: this run is not over; -1: there was none */
    bool another;                   /* run of this name lasts, and has the line */
    bool strange;                   /* there was something else, or what could not be opened */
    char line[PREVIOUS_LINE_BYTES]; /* as it was */
    struct program_state {
        unsigned long long bytes, modified_ns;
    } program;
    uint64_t oom_kills;
    unsigned reporters_killed; /* by SIGKILL: the kernel prefers them where memory is short */
};

/* Before the program starts. `file`: the program's, NULL: not found. Touches nothing of the spool. */
void previous_prepare(struct previous *p, const char *spool, const char *name, const char *file);

/* When it runs: where there is a line, it says from now on that the run lasts. */
void previous_begin(struct previous *p);

/* When it has ended, and its books are closed: notes how for the run after. */
void previous_note(struct previous *p, const struct run_result *r, unsigned reporters_killed);

/* A run's record was settled after its runner died: the program died in a hang. */
void previous_note_fatal_hang(const char *spool, const char *name);

/* Of a run that nobody sees the end of: the line would be that of an older one. */
void previous_forget(const char *spool, const char *name);

#endif
