/* SPDX-License-Identifier: MIT
 *
 * Values of the system by sysctl. Any thread; no allocation.
 */
#ifndef HD_OS_DARWIN_SYSTEM_VALUES_H
#define HD_OS_DARWIN_SYSTEM_VALUES_H

#include "base/types.h"

/* Stores the text of `name`, truncated to `size`, with a NUL at the end. It is empty if the system has none.
 */
void hd_system_text(const char *name, char *text, size_t size);
/* Returns the number of `name`, of 4 or 8 bytes. 0: the system has none. */
uint64_t hd_system_number(const char *name);
/* True: a debugger traces this process. */
bool hd_system_has_debugger(void);
/* Stores the name of process `pid`, which may lack a NUL. It is empty if there is no such process. */
void hd_system_process_name(int pid, char name[16]);
/* "macOS", "iOS" and so on. */
const char *hd_system_name(void);
/* The system's word in a report: "macos" or "ios". */
const char *hd_system_word(void);
/* The name of the value that has the device's model, such as "Mac14,2" or "iPhone15,2". */
const char *hd_system_model_name(void);

#endif
