/* SPDX-License-Identifier: MIT
 *
 * The settings of Hangdog: defaults, and values from environment variables.
 */
#ifndef HD_CONTROL_SETTINGS_H
#define HD_CONTROL_SETTINGS_H

#include "watch/settings.h"

void hd_settings_init(struct hd_settings *s);
/* Sets the members for messages to systemd's watchdog, if there is one. `of_runner`: do so even if the
 * watchdog's limit is meant for another process, the runner. */
void hd_settings_keep_alive(struct hd_settings *s, bool of_runner);
/* Returns an environment variable. NULL: the variable is not set, or empty. */
const char *hd_settings_environment(const char *name);

#endif
