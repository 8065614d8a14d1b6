/* SPDX-License-Identifier: MIT */
#include "cli/fleet/fleet.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/error.h"

/* "FOLDER/../libexec/hangdog/PROGRAM", where FOLDER has this command. False: it does not fit, or is unknown.
 */
static bool find_near_command(const char *program, char *path, size_t size) {
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0) {
        return false;
    }
    own[n] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(own, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
    }
    return (size_t)snprintf(path, size, "%s/" LIBEXEC_FOLDER "/%s", own, program) < size;
}

int fleet_start(const char *program, int argc, char **argv) {
    char path[PATH_MAX];
    char **words = calloc((size_t)argc + 1, sizeof *words);
    if (words == NULL || !find_near_command(program, path, sizeof path)) {
        free(words);
        return print_error("cannot start %s: its file was not found", program);
    }
    memcpy(words, argv, (size_t)argc * sizeof *words);
    execv(path, words);
    int error = errno;
    free(words);
    if (error == ENOENT) {
        return print_error("cannot start %s: %s is missing; Hangdog was built or installed without it",
                           program, path);
    }
    return print_error("cannot start %s: %s", path, strerror(error));
}
