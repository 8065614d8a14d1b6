/* SPDX-License-Identifier: MIT */
#include "cli/base/libexec.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool cut_last(char *path) {
    char *slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    return slash != NULL;
}

bool libexec_find(const char *program, char *path, size_t size) {
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0) {
        return false;
    }
    own[n] = '\0';
    if (!cut_last(own)) {
        return false;
    }
    if ((size_t)snprintf(path, size, "%s/%s", own, program) < size && access(path, X_OK) == 0) {
        return true;
    }
    return cut_last(own) && (size_t)snprintf(path, size, "%s/" LIBEXEC_FOLDER "/%s", own, program) < size;
}

const char *libexec_look_up(void) {
    static char path[PATH_MAX];
    return libexec_find("hangdog-name", path, sizeof path) ? path : NULL;
}
