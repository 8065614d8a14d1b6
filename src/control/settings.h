/* SPDX-License-Identifier: MIT
 *
 * The settings of a run: defaults, and values of the environment.
 */
#ifndef HD_CONTROL_SETTINGS_H
#define HD_CONTROL_SETTINGS_H

#include "watch/settings.h"

void hd_settings_init(struct hd_settings *s);
/* Sets what messages to systemd's watchdog need, if there is one. `of_runner`: also where its limit is for
 * the runner's process. */
void hd_settings_keep_alive(struct hd_settings *s, bool of_runner);
/* A variable of the environment; NULL: it is not set, or empty. */
const char *hd_settings_environment(const char *name);

#endif
