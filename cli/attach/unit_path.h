/* SPDX-License-Identifier: MIT
 *
 * Whether a process is in a systemd unit, by its control groups. Pure.
 */
#ifndef CLI_ATTACH_UNIT_PATH_H
#define CLI_ATTACH_UNIT_PATH_H

#include <stdbool.h>

/* True: one of the paths goes through the unit. `text`: of /proc/PID/cgroup; `unit`: "web.service". */
bool unit_path_has(const char *text, const char *unit);

#endif
