/* SPDX-License-Identifier: MIT
 *
 * The numbers of the classes are those of Foundation's NSFileProtectionType, by letter: A is 1. Only devices
 * have classes.
 */
#include "os/darwin/file_protection.h"

#include <TargetConditionals.h>
#include <errno.h>
#include <fcntl.h>

enum {
    COMPLETE = 1,
    COMPLETE_UNLESS_OPEN = 2,
    UNTIL_FIRST_UNLOCK = 3
};

void hd_file_protection_lower(int folder) {
#if TARGET_OS_IPHONE && !TARGET_OS_SIMULATOR
    int saved = errno, now = fcntl(folder, F_GETPROTECTIONCLASS);
    if (now == COMPLETE || now == COMPLETE_UNLESS_OPEN) {
        (void)fcntl(folder, F_SETPROTECTIONCLASS, UNTIL_FIRST_UNLOCK);
    }
    errno = saved;
#else
    (void)folder;
#endif
}
