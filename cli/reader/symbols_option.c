/* SPDX-License-Identifier: MIT */
#include "cli/reader/symbols_option.h"

#include <stdlib.h>

const char *symbols_folders(const char *option) {
    const char *named = option != NULL ? option : getenv("HANGDOG_SYMBOLS");
    return named != NULL && named[0] != '\0' ? named : NULL;
}
