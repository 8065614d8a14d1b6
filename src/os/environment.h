/* SPDX-License-Identifier: MIT */
#ifndef HD_OS_ENVIRONMENT_H
#define HD_OS_ENVIRONMENT_H

/* Returns the process's environment: strings NAME=VALUE with a NULL at the end, or NULL. Only before a watch:
 * the program may change it at any time. */
char **hd_os_environment(void);

/* Returns the path of the folder for the state of programs, below the user's home: "/.local/state". */
const char *hd_os_home_state(void);

#endif
