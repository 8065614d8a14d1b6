/* SPDX-License-Identifier: MIT
 *
 * A dylib may not name `environ`, which belongs to the executable.
 */
#include "os/environment.h"

#include <crt_externs.h>

char **hd_os_environment(void) {
    return *_NSGetEnviron();
}

/* An app's container is read-only at its top. No backup has this folder. */
const char *hd_os_home_state(void) {
    return "/Library/Caches";
}
