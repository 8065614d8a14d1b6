/* SPDX-License-Identifier: MIT */
#include "cli/reader/symbols_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *symbols_folders(const char *option) {
    const char *named = option != NULL ? option : getenv("HANGDOG_SYMBOLS");
    return named != NULL && named[0] != '\0' ? named : NULL;
}

void symbols_say_wait(void) {
    if (isatty(STDERR_FILENO) != 0) {
        fputs("hangdog: waiting for names from the servers of $DEBUGINFOD_URLS (--no-symbols does without)\n",
              stderr);
    }
}
