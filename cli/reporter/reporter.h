/* SPDX-License-Identifier: MIT
 *
 * The reporter: a second process next to the runner. It reads new reports, adds symbols, prints, and runs
 * --on-hang; at the end it prints the summary. No other process writes to stderr while it runs.
 */
#ifndef CLI_REPORTER_H
#define CLI_REPORTER_H

#include "cli/base/options.h"
#include "cli/reporter/on_hang.h"
#include "cli/reporter/reporter_shared.h"
#include "cli/reporter/spool_view.h"

#define REPORTER_WHY_BYTES 64

/* The options of the reporter. All pointers stay valid as long as the reporter runs. */
struct reporter_options {
    const char *name, *loop, *on_hang; /* loop, on_hang: NULL, none */
    const char *spool_words;           /* " --spool DIR" for printed commands; empty: the default spool */
    char *const *program;              /* the words that were run, for printed commands */
    pid_t pid;                         /* of that program */
    const struct text_list *threads;
    int64_t threshold_ns;
    bool json; /* reports go to stderr as JSON, not as text */
    bool quiet, follow;
    bool not_kept;                           /* the spool goes with the run */
    const char *json_file;                   /* of --json=FILE, else NULL */
    int json_fd;                             /* that file, or -1 */
    const struct hd_record_options *decided; /* the runner's own copy */
    struct hd_record *records;               /* shared with the program, which can write all of it */
};

struct record_mirror;
struct symbolizer;
struct reporter {
    const struct reporter_options *options;
    struct reporter_shared *shared;
    pid_t runner;
    int wake_fd;                  /* an eventfd: read `shared` again */
    bool names;                   /* symbols are looked up */
    char why[REPORTER_WHY_BYTES]; /* why not */
    /* the reporter's own */
    struct hd_record *records; /* the program's, then the copy */
    struct spool_view view;
    struct record_mirror *mirror;
    struct on_hang commands;
    struct symbolizer *symbolizer; /* made when it is first needed */
    bool colour, on_terminal;      /* of stderr */
    unsigned unprinted;            /* hangs, for want of memory */
    unsigned open_stalls;          /* of pools, as the program ended */
    uint64_t open_stall_ns;
    unsigned unwritten; /* reports that are not in the file of --json */
    int json_error;     /* why, an errno value */
    char *pending;      /* text, while the program draws on the screen; NULL: none */
    size_t pending_bytes;
    uint64_t loop_due_ns; /* when to look again for the loop, 0: never */
};

/* In the reporter's process: all of it, until the run has ended and its summary is printed. */
void reporter_run(struct reporter *r);

#endif
