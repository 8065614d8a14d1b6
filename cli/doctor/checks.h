/* SPDX-License-Identifier: MIT
 *
 * Results of checks, in their order, and how they are printed.
 */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

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

#endif
