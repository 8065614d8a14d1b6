/* SPDX-License-Identifier: MIT
 *
 * What of this installation and this system works.
 */
#ifndef CLI_DOCTOR_SYSTEM_CHECKS_H
#define CLI_DOCTOR_SYSTEM_CHECKS_H

#include "cli/doctor/checks.h"

/* `spool`: as the user named it; NULL: the default folder. */
void system_checks_run(struct checks *c, const char *spool);

#endif
