/* SPDX-License-Identifier: MIT
 *
 * The settings of a system service, from its unit file and drop-ins. Where systemd runs it names the files,
 * else they are searched as systemd.unit(5) says.
 */
#ifndef CLI_DOCTOR_UNIT_FILE_H
#define CLI_DOCTOR_UNIT_FILE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

#include "cli/base/error.h"

#define UNIT_NAME_BYTES 256
#define UNIT_DROP_IN "hangdog.conf" /* ours, which is not read: it would be watched twice */

struct unit {
    char name[UNIT_NAME_BYTES];     /* with its suffix: "postgresql@15-main.service" */
    char plain[UNIT_NAME_BYTES];    /* "postgresql@15-main" */
    char app[UNIT_NAME_BYTES];      /* "postgresql" */
    char instance[UNIT_NAME_BYTES]; /* "15-main"; empty: it is of no template */
    json_t *files;                  /* paths; the unit's own is the first */
    json_t *service;                /* of [Service]: each key's values, in their order */
    char drop_in[PATH_MAX];         /* ours; empty: it has none */
};

/* False, and why: there is no such unit. After true: unit_free. */
bool unit_load(struct unit *u, const char *name, struct problem *why);
void unit_free(struct unit *u);

/* The last value of a key; "" where the unit has no such key. */
const char *unit_value(const struct unit *u, const char *key);
/* All values, as lines are added to each other; NULL: none. */
const json_t *unit_values(const struct unit *u, const char *key);
/* A boolean as systemd writes it. */
bool unit_is_true(const struct unit *u, const char *key);

#endif
