/* SPDX-License-Identifier: MIT
 *
 * The system's memory pressure, and the task's role. A thread of the system's queue stores the
 * memory pressure, so no thread of ours waits for it.
 */
#ifndef HD_OS_DARWIN_SYSTEM_STATE_H
#define HD_OS_DARWIN_SYSTEM_STATE_H

#include "base/types.h"

/* Starts to follow the state; further calls do nothing. `changed`: called on a thread of the system's queue
 * after each change of the memory pressure; NULL: none. Call it on the worker thread. */
void hd_system_state_start(void (*changed)(void));

/* The words of a report. NULL: not known. Any thread. */
const char *hd_system_memory_pressure(void);
const char *hd_system_role(int32_t role);
#endif
