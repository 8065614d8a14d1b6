/* SPDX-License-Identifier: MIT */
#include "os/environment.h"

extern char **environ;

char **hd_os_environment(void) {
    return environ;
}
