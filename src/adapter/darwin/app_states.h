/* SPDX-License-Identifier: MIT
 *
 * Follows the program's state by notifications (hangdog_app_follow). On the main thread.
 */
#ifndef HD_ADAPTER_APP_STATES_H
#define HD_ADAPTER_APP_STATES_H

/* Remembers whether the system started this process before the user did. A constructor calls this function,
 * since the system removes the variable of the environment once the launch is over. */
void hd_app_states_note_prewarming(void);

#endif
