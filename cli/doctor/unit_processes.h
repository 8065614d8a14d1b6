/* SPDX-License-Identifier: MIT
 *
 * The processes of a running service, by their control group.
 */
#ifndef CLI_DOCTOR_UNIT_PROCESSES_H
#define CLI_DOCTOR_UNIT_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

struct unit_processes {
    unsigned count;
    bool has_user; /* one that is not root's */
    uid_t user;    /* the first such */
    bool young;    /* one started within the last seconds: it may become another user's yet */
};

/* `name`: of the unit, with its suffix. Zeros where it does not run, or is not visible. */
struct unit_processes unit_processes_find(const char *name);

#endif
