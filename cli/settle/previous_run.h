/* SPDX-License-Identifier: MIT
 *
 * Remembers how a program's last run ended, by a file with one line in the spool. Each app name has a file of
 * its own. These functions run on the runner's main thread.
 */
#ifndef CLI_PREVIOUS_RUN_H
#define CLI_PREVIOUS_RUN_H

#include "cli/settle/run_result.h"

#define PREVIOUS_LINE_BYTES 256

struct previous {
    const char *end; /* the report's word for how the previous run ended; NULL: not known */
    char path[4 * HD_RECORD_STRING + 64];
    /* descriptor of the file, which stays locked while this run lasts; -1: no file is open */
    int fd;
    bool another; /* true: another run with this app name lasts, and has the lock */
    /* true: the open failed, or the file is not a regular file of this user */
    bool strange;
    char line[PREVIOUS_LINE_BYTES]; /* the line that the previous run left */
    struct program_state {
        unsigned long long bytes, modified_ns;
    } program;
    uint64_t oom_kills;
    /* The number of this run's reporters that SIGKILL ended. When memory is short, the kernel kills the
     * reporter before the program. The kernel's count of kills includes these reporters, but their ends do
     * not show that the kernel killed the program. */
    unsigned reporters_killed;
};

/* Called before the program starts. Stores the state of the program's file. Also stores how many processes
 * the kernel has killed so far because memory was short. `file`: the path of the program's file; NULL: not
 * found. Does not access the spool. */
void previous_prepare(struct previous *p, const char *spool, const char *name, const char *file);

/* Called after the program's start. Reads the line that the previous run left, and sets `p->end` by it.
 * Replaces an existing line by one which says that this run lasts. */
void previous_begin(struct previous *p);

/* Called after the program has ended and its records are settled. Stores in the file how this run ended,
 * for the next run. */
void previous_note(struct previous *p, const struct run_result *r, unsigned reporters_killed);

/* Called after the settling of a record that has lost its runner. Writes a line which says that the program
 * with app name `name` died in a hang. */
void previous_note_fatal_hang(const char *spool, const char *name);

/* Called for a run without a runner. Removes the file of app name `name`, since no process will store how
 * this run ends. */
void previous_forget(const char *spool, const char *name);

#endif
