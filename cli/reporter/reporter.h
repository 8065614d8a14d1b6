/* SPDX-License-Identifier: MIT
 *
 * The reporter of a run. It reads the program's records, finds new reports in the spool, and prints the
 * summary at the end. No other process writes to stderr while it runs.
 */
#ifndef CLI_REPORTER_H
#define CLI_REPORTER_H

#include "cli/base/options.h"
#include "cli/reporter/printer.h"
#include "cli/reporter/reporter_shared.h"
#include "cli/reporter/spool_view.h"

/* The options of the reporter. All pointers stay valid as long as the reporter runs. */
struct reporter_options {
    struct printer_options print;
    const char *name, *loop; /* loop: NULL, none */
    char *const *program;    /* the words that were run, for printed commands */
    pid_t pid;               /* of that program */
    const struct text_list *threads;
    int64_t threshold_ns;
    bool follow;
    const struct hd_record_options *decided; /* the runner's own copy */
    struct hd_record *records;               /* shared with the program, which can write all of it */
};

struct record_mirror;
struct reporter {
    struct printer printer;
    const struct reporter_options *options;
    struct reporter_shared *shared;
    /* the reporter's own */
    struct hd_record *records; /* the program's, then the copy */
    struct spool_view view;
    struct record_mirror *mirror;
};

/* Maps what is shared. 0 or a negative errno value. */
int reporter_prepare(struct reporter *r);

/* In the reporter's process: all of it, until the run has ended and its summary is printed. */
void reporter_run(void *reporter);

#endif
