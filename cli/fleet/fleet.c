/* SPDX-License-Identifier: MIT */
#include "cli/fleet/fleet.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/error.h"
#include "cli/base/libexec.h"
#include "cli/fleet/libraries.h"

int fleet_start(const char *program, int argc, char **argv) {
    char path[PATH_MAX];
    struct problem why;
    char **words = calloc((size_t)argc + 1, sizeof *words);
    if (words == NULL || !libexec_find(program, path, sizeof path)) {
        free(words);
        return print_error("cannot start %s: its file was not found", program);
    }
    if (libraries_are_missing(path, &why)) {
        free(words);
        return error_print(&why);
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
