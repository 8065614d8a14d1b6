/* SPDX-License-Identifier: MIT */
#include "os/environment.h"

extern char **environ;

char **hd_os_environment(void) {
    return environ;
}

const char *hd_os_home_state(void) {
    return "/.local/state";
}
