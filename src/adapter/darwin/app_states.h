/* SPDX-License-Identifier: MIT
 *
 * Follows the program's state by notifications (hangdog_app_follow), and knows the device's state. On the
 * main thread, except for hd_app_states_device.
 */
#ifndef HD_ADAPTER_APP_STATES_H
#define HD_ADAPTER_APP_STATES_H

#include "base/types.h"

/* NSProcessInfo's thermal state, from 0 (nominal) to 3 (critical), and the low power mode. -1: not known,
 * since no framework has announced the state. */
struct hd_app_device {
    int32_t thermal, low_power;
};

/* Any thread; async-signal-safe. */
struct hd_app_device hd_app_states_device(void);
/* Remembers whether the system started this process before the user did. A constructor calls this function,
 * since the system removes the variable of the environment once the launch is over. */
void hd_app_states_note_prewarming(void);

#endif
