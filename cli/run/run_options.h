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
    int64_t threshold_ns, launch_ns, interval_ns;
    int64_t frame_drop_ns;                         /* 0: long frames have no reports */
    long display_hz;                               /* 0: 60 */
    int64_t cpu_ns;                                /* 0: the CPU is not watched */
    long reports_per_day, reports_per_fingerprint; /* 0: any number */
    const char *spool, *name;                      /* spool: NULL, the default; name: the app's */
    const char *app_version, *environment;         /* options; NULL: not given */
    struct app_identity app; /* name, version and environment, from options and defaults */
    const char *on_hang;
    const char *loop;         /* MODULE[:FUNCTION]; NULL: recognise the loop */
    struct text_list threads; /* names of watched threads besides the main one */
    const char *json;         /* FILE; empty: standard error; NULL: none */
    int json_fd;              /* FILE, once it is open, or -1 */
    bool quiet, exec;
    bool follow; /* children too */
    bool without_paths;
    bool crash;
    bool keep_alive; /* send systemd's keep-alive messages */
    char **program;  /* and its arguments */
};

/* The subcommand; run_options.c has the table of options. */
int cmd_run(int argc, char **argv);

/* The values that `hangdog attach` takes, too. 0, or the status of a wrong use of the command. */
int run_options_check(const struct command *command, const struct run_options *o);

/* False: the command ends with *status. */
bool run_options_parse(int argc, char **argv, struct run_options *o, int *status);

#endif
