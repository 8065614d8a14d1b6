/* SPDX-License-Identifier: MIT
 *
 * The checks of `hangdog doctor`: their results in order, the print of them, and the checks themselves.
 */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum check_status {
    CHECK_OK,
    CHECK_WARN,
    CHECK_FAIL
};

struct checks {
    json_t *all; /* of {check status detail fix} */
    bool failed;
};

void checks_start(struct checks *c);
void checks_end(struct checks *c);

/* `fix`: a command, NULL or empty: none. */
void checks_add(struct checks *c, const char *name, enum check_status status, const char *fix,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* `quiet`: what fails, only. */
void checks_print(FILE *to, const struct checks *c, bool quiet);

/* checks_system.c: checks this installation and this system. `spool`: as the user named it; NULL: the default
 * folder. */
void system_checks_run(struct checks *c, const char *spool);

/* checks_attach.c: checks how `hangdog attach` learns of waits here. */
void attach_checks_run(struct checks *c);

/* checks_target.c: checks a program with its arguments, without starting it, and a running process. */
void target_checks_program(struct checks *c, char *const *words);
void target_checks_process(struct checks *c, pid_t pid);

/* checks_unit.c: checks the systemd unit `name`. With `drop_in`, and if no check fails, prints a drop-in on
 * stdout that starts the service under watch. */
void unit_checks_run(struct checks *c, const char *name, bool drop_in);

#endif
