/* SPDX-License-Identifier: MIT
 *
 * The options of hangdog run. Ordinary code.
 */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include <stdbool.h>

#include "cli/base/options.h"
#include "cli/run/app_identity.h"

struct run_options {
    int64_t threshold_ns, interval_ns;
    int64_t frame_drop_ns;                         /* 0: long frames have no reports */
    long display_hz;                               /* 0: 60 */
    int64_t cpu_ns;                                /* 0: the CPU is not watched */
    long reports_per_day, reports_per_fingerprint; /* 0: any number */
    const char *spool, *name;                      /* spool: NULL, the default; name: the app's */
    const char *app_version, *environment;         /* options; NULL: not given */
    struct app_identity app;                       /* what the options and the defaults make of all three */
    const char *on_hang;
    const char *loop;         /* MODULE[:FUNCTION], NULL: it is recognised */
    struct text_list threads; /* by name, beside the main one */
    const char *json;         /* FILE; empty: standard error; NULL: none */
    int json_fd;              /* FILE, once it is open, or -1 */
    bool quiet, exec;
    bool follow; /* children too */
    bool without_paths;
    bool crash;
    bool keep_alive; /* systemd's watchdog is answered */
    char **program;  /* and its arguments */
};

/* The command itself: its table is beside its options. */
int cmd_run(int argc, char **argv);

/* False: the command ends with *status. */
bool run_options_parse(int argc, char **argv, struct run_options *o, int *status);

#endif
