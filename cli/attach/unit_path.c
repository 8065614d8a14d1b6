/* SPDX-License-Identifier: MIT */
#include "cli/attach/unit_path.h"

#include <string.h>

bool unit_path_has(const char *text, const char *unit) {
    size_t bytes = strlen(unit);
    for (const char *at = text; (at = strstr(at, unit)) != NULL; at += bytes) {
        bool starts = at > text && at[-1] == '/';
        if (starts && (at[bytes] == '/' || at[bytes] == '\n' || at[bytes] == '\0')) {
            return true;
        }
    }
    return false;
}
