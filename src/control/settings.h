/* SPDX-License-Identifier: MIT
 *
 * Settings of a run: defaults, and what the environment says.
 */
#ifndef HD_CONTROL_SETTINGS_H
#define HD_CONTROL_SETTINGS_H

#include "watch/settings.h"

void hd_settings_init(struct hd_settings *s);
/* Messages to systemd's watchdog, if there is one. `of_runner`: also where the limit is of the runner's
 * process. */
void hd_settings_keep_alive(struct hd_settings *s, bool of_runner);
/* NULL: not set, or empty. */
const char *hd_settings_environment(const char *name);

#endif
