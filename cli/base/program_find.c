/* SPDX-License-Identifier: MIT */
#include "cli/base/program_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Some filters do not know faccessat2, which the check for the effective user needs: they return EPERM. */
static bool may_execute(const char *path) {
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 || (errno == EPERM && access(path, X_OK) == 0);
}

bool program_is_executable(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && may_execute(path);
}

bool program_find(const char *program, char *path, size_t size) {
    char usual[PATH_MAX];
    const char *places = getenv("PATH");
    if (strchr(program, '/') != NULL) {
        return (size_t)snprintf(path, size, "%s", program) < size;
    }
    if (places == NULL) {
        confstr(_CS_PATH, usual, sizeof usual);
        places = usual;
    }
    for (const char *p = places; program[0] != '\0'; p++) {
        size_t n = strcspn(p, ":");
        int length = snprintf(path, size, "%.*s%s%s", (int)n, p, n > 0 ? "/" : "", program);
        if ((size_t)length < size && program_is_executable(path)) {
            return true;
        }
        p += n;
        if (*p == '\0') {
            break;
        }
    }
    return false;
}
