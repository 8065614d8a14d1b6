/* SPDX-License-Identifier: MIT
 *
 * Plans a drop-in that starts a systemd service under watch.
 */
#ifndef CLI_DOCTOR_UNIT_PLAN_H
#define CLI_DOCTOR_UNIT_PLAN_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/doctor/unit_file.h"

#define UNIT_COMMAND_BYTES 65536

struct unit_plan {
    char command[PATH_MAX], preload[PATH_MAX]; /* Hangdog's own files */
    char spool[UNIT_NAME_BYTES];               /* below /var/lib/hangdog */
    char prefix[8];                            /* of ExecStart: "-", "+" */
    char words[UNIT_COMMAND_BYTES];            /* the program and its arguments, as systemd reads them */
    char program[PATH_MAX];                    /* its file; empty: systemd's specifiers are in it */
    char user[64];                             /* of the processes that write reports; empty: root */
    bool state_directory; /* systemd makes the spool for that user; else the drop-in does */
    bool no_exec;         /* NoExecPaths= forbids Hangdog's files */
    bool follow;          /* the watched processes are children */
    bool running;         /* the unit has processes, by which users and children are known */
    bool cluster;         /* Debian's pg_ctlcluster: its postgres is started instead */
};

/* False, and why: the unit cannot be watched. */
bool unit_plan_make(struct unit_plan *p, const struct unit *u, struct problem *why);

/* A sandbox of the unit hides or locks this path of ours: the key that does, else NULL. */
const char *unit_plan_hidden_by(const struct unit *u, const char *path);

/* The text of the drop-in. */
void unit_plan_print(FILE *to, const struct unit_plan *p, const struct unit *u);

#endif
