/* SPDX-License-Identifier: MIT
 *
 * What of a systemd service's unit lets Hangdog watch it, and what does not.
 */
#ifndef CLI_DOCTOR_UNIT_CHECKS_H
#define CLI_DOCTOR_UNIT_CHECKS_H

#include "cli/doctor/checks.h"

/* Adds the checks of the unit `name`. With `drop_in`, and where none of them fails, the text of a drop-in
 * that starts the service under watch is printed on stdout. */
void unit_checks_run(struct checks *c, const char *name, bool drop_in);

#endif
