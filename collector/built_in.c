/* SPDX-License-Identifier: MIT */
#include "collector/built_in.h"

#include <string.h>

const struct built_in *built_in_find(const char *name) {
    for (const struct built_in *f = built_in_files; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0) {
            return f;
        }
    }
    return NULL;
}
